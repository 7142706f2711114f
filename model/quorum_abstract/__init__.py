"""A small spec of the KRaft quorum, which is proved for any number of replicas, epochs and
offsets.
"""

from model.quorum_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
