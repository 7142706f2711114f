"""Replication of one partition, small enough to prove for any number of replicas, epochs and
offsets.
"""

from model.replication_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
