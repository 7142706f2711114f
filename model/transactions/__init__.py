"""Transactions of one transactional id: its clients, its coordinator, and partitions with markers.

Source: KIP-98; KIP-890; KIP-1228; docs/sources.md D0.
Simplified: one transactional id, one coordinator partition. No deleted topics and no KIP-939.
"""

from model.transactions import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
