"""The idempotent producer: a client may send a batch several times, but a partition appends it
once.
"""

from model.idempotence import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
