from model.group_offsets.variants import VARIANTS

__all__ = ["VARIANTS"]
