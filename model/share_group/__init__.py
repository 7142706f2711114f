"""Share groups (KIP-932): the members of a group share the records of a partition like the jobs
of a queue.
"""

from model.share_group import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
