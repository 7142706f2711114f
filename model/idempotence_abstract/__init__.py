"""The idempotent producer in a small spec, provable for any number of producers, epochs and
offsets.
"""

from model.idempotence_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
