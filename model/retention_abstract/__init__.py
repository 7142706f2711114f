"""A small spec of the deletion of records: by retention, by DeleteRecords, and by compaction. Its
claims are proved for any number of replicas, offsets and leader epochs.
"""

from model.retention_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
