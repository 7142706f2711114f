from model.group_ownership.variants import VARIANTS

__all__ = ["VARIANTS"]
