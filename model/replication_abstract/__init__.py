from model.replication_abstract.variants import VARIANTS

__all__ = ["VARIANTS"]
