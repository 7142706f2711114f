from model.classic_group.variants import VARIANTS

__all__ = ["VARIANTS"]
