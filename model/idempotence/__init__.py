from model.idempotence.variants import VARIANTS

__all__ = ["VARIANTS"]
