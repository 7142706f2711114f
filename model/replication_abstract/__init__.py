"""A spec of the replication of one partition, which is small enough for a proof. The proof covers
any number of replicas, leader epochs and offsets.
"""

from model.replication_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
