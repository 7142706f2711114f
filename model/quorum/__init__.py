"""A spec of the KRaft quorum, which replicates the cluster's metadata among the controllers
(KIP-595).
"""

from model.quorum import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
