"""A classic consumer group: members join, the leader assigns partitions, and the coordinator
refuses requests of members from an old generation.
"""

from model.classic_group import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
