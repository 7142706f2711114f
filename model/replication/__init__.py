"""A spec of the replication of one partition: append, fetch, truncation, high watermark and ISR. It
has six versions.
"""

from model.replication import actions, bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(actions, versions, bugs)

__all__ = ["VARIANTS"]
