"""A small spec of KIP-848 groups. Its claims are proved for any number of members, partitions and
epochs.
"""

from model.consumer_group_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
