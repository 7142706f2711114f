"""Deletion of records: retention and DeleteRecords delete the oldest, compaction replaced
values.
"""

from model.retention import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
