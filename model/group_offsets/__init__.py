"""The committed offsets of a group: consumers read, process and commit in transactions, while
the group rebalances.
"""

from model.group_offsets import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
