"""A spec of the deletion of records: by retention, by DeleteRecords requests, and by compaction."""

from model.retention import bugs, eligible, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, eligible, bugs)

__all__ = ["VARIANTS"]
