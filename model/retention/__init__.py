"""Deletion of records: by retention, by DeleteRecords requests, and by compaction.

Retention and DeleteRecords delete the oldest records. Compaction deletes a record when its key has
a later record.
"""

from model.retention import bugs, eligible, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, eligible, bugs)

__all__ = ["VARIANTS"]
