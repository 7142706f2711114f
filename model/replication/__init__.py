from model.replication.variants import VARIANTS

__all__ = ["VARIANTS"]
