from model.election.variants import VARIANTS

__all__ = ["VARIANTS"]
