"""A consumer group of KIP-848. The coordinator moves the members of the group step by step to a
target assignment.
"""

from model.consumer_group import bugs, static_bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs, static_bugs)

__all__ = ["VARIANTS"]
