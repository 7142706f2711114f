"""A spec of the transactions of one transactional id: its clients, its coordinator, and the
partitions' logs.

Source: KIP-98; KIP-890; KIP-939; KIP-1228; docs/sources.md DOC0.
Simplified: the spec has one transactional id, and one partition of the coordinator's log. Only the
version `topic-ids` and its bugs have topics that are deleted.
"""

from model.transactions import (
    aborts,
    client_bugs,
    continuation,
    coordinator_bugs,
    deletion,
    deletion_bugs,
    fences,
    partition_bugs,
    two_phase_aborts,
    two_phase_bugs,
    two_phase_commit,
    versions,
)
from model.variants import variants_in

VARIANTS = variants_in(
    versions,
    fences,
    continuation,
    aborts,
    deletion,
    two_phase_commit,
    two_phase_aborts,
    partition_bugs,
    coordinator_bugs,
    client_bugs,
    deletion_bugs,
    two_phase_bugs,
)

__all__ = ["VARIANTS"]
