from model.transactions_abstract.variants import VARIANTS

__all__ = ["VARIANTS"]
