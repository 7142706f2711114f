from model.consumer_group.variants import VARIANTS

__all__ = ["VARIANTS"]
