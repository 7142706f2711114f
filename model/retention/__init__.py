"""Deletion of records: retention and DeleteRecords at the old end, and compaction of old values."""

from model.retention import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
