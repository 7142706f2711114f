"""A state of `replication-abstract`, read by the numbers of the real cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from checkers.tracing.registrations import Registration
from model.language.rows import RowState
from properties.refinement.behaviour import as_int


class ReplicationState(NamedTuple):
    """The spec's state; `r` and `f` are replicas of the spec."""

    state: RowState
    replicas: Mapping[int, int]  # broker id -> replica of the spec

    def end(self, r: int) -> int:
        return as_int(self.state["replica.end_offset", (r,)])

    def mark(self, r: int) -> int:
        """Returns the high watermark of the replica."""
        return as_int(self.state["replica.high_watermark", (r,)])

    def epoch(self, r: int) -> int:
        return as_int(self.state["replica.leader_epoch", (r,)])

    def fetched(self, epoch: int, f: int) -> int:
        """Returns the log end of the follower as the leader of the epoch knows it."""
        return as_int(self.state["led.fetched", (epoch, f)])

    def last_epoch(self, r: int) -> int | None:
        """Returns the leader epoch of the replica's last record; None for an empty log."""
        end = self.end(r)
        return as_int(self.state["replica.entry.leader_epoch", (r, end - 1)]) if end else None

    def missing(self, r: int, end: int) -> str:
        """Describes the committed records that the replica lacks if its log ends at `end`."""
        committed = as_int(self.state["committed_end", ()])
        missing = [o for o in range(committed) if o >= end or not self._has_committed(r, o)]
        if not missing:
            return f"it has all {committed} committed records"
        return (
            f"it lacks {len(missing)} of {committed} committed records, from offset {missing[0]} on"
        )

    def _has_committed(self, r: int, o: int) -> bool:
        return all(
            self.state[f"replica.entry.{name}", (r, o)] == self.state[f"committed.{name}", (o,)]
            for name in ("leader_epoch", "message")
        )

    def shown(self, registered: Registration, node: int) -> Iterator[str]:
        """Yields lines with the registration and each replica; an arrow marks the node."""
        yield (
            f"controller: partition epoch {registered.partition_epoch}, leader epoch"
            f" {registered.leader_epoch}, leader {registered.leader}, ISR"
            f" {sorted(registered.isr)}, ELR {sorted(registered.elr)}"
        )
        for broker, r in self.replicas.items():
            epoch, leads = self.epoch(r), self.state["replica.is_leader", (r,)]
            yield (
                f"{'->' if broker == node else '  '} broker {broker}"
                f" {'leads' if leads else 'follows'} in leader epoch {epoch}: log end"
                f" {self.end(r)}, high watermark {self.mark(r)}"
            )
            if leads:
                every = self.replicas.items()
                waits = [b for b, f in every if self.state["led.maximal_isr", (epoch, f)]]
                fetched = {b: self.fetched(epoch, f) for b, f in every}
                yield f"     waits for {waits}, fetched {fetched}"
