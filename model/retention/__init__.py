from model.retention.variants import VARIANTS

__all__ = ["VARIANTS"]
