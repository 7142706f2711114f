from model.idempotence_abstract.variants import VARIANTS

__all__ = ["VARIANTS"]
