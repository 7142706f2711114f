"""A small spec of consume-process-produce. Its claims are proved for any number of inputs,
partitions and instances.
"""

from model.pipeline_abstract import (
    bugs,
    failover,
    failover_bugs,
    late_bugs,
    late_requests,
    versions,
)
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs, late_requests, late_bugs, failover, failover_bugs)

__all__ = ["VARIANTS"]
