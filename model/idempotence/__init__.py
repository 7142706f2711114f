"""A spec of the idempotent producer: a client may send a batch several times, but a partition
appends the batch only once.
"""

from model.idempotence import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
