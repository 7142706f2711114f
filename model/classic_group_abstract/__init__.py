"""A small spec of classic groups. Its claims are proved for any number of members and
partitions.
"""

from model.classic_group_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
