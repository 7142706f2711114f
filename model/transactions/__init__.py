from model.transactions.variants import VARIANTS

__all__ = ["VARIANTS"]
