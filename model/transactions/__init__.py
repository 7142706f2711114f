"""Transactions of one transactional id: its clients, its coordinator, and the partitions' logs.

Source: KIP-98; KIP-890; KIP-1228; docs/sources.md D0.
Simplified: one transactional id and one partition of the coordinator's log. Deletion of topics and
KIP-939 are left out.
"""

from model.transactions import bugs, continuation, fences, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs, fences, continuation)

__all__ = ["VARIANTS"]
