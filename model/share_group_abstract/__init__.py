"""A small spec of share groups (KIP-932). Its claims are proved for any number of records and
leaders.
"""

from model.share_group_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
