"""A classic consumer group: members join, one of them assigns, and generations detect old
members.
"""

from model.classic_group import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
