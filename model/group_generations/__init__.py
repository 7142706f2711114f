from model.group_generations.variants import VARIANTS

__all__ = ["VARIANTS"]
