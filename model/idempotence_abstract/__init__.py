"""A small spec of the idempotent producer. Its claims are proved for any number of producers,
epochs and offsets.
"""

from model.idempotence_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
