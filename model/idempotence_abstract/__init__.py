"""The idempotent producer, small enough to prove for any number of producers, epochs and
offsets.
"""

from model.idempotence_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
