"""Queries on a state of the spec `replication-abstract`: high watermarks, log ends, and lost
records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from checkers.tracing.losses import Loss, LossyStep
from checkers.tracing.registrations import Registration
from model.language.rows import RowState
from properties.refinement.behaviour import as_int


class ReplicationState(NamedTuple):
    """A state of the spec `replication-abstract`, with queries.

    In the methods, `r` is the number of a replica, and `f` is the number of a follower.
    """

    state: RowState
    replicas: Mapping[int, int]  # broker id -> replica of the spec

    def end(self, r: int) -> int:
        return as_int(self.state["replica.end_offset", (r,)])

    def mark(self, r: int) -> int:
        return as_int(self.state["replica.high_watermark", (r,)])

    def epoch(self, r: int) -> int:
        return as_int(self.state["replica.leader_epoch", (r,)])

    def fetched(self, epoch: int, f: int) -> int:
        """Returns the log end offset of the follower `f`, as the leader of `epoch` has recorded
        it.
        """
        return as_int(self.state["led.fetched", (epoch, f)])

    def flushed(self, r: int) -> int:
        """Returns the offset below which all records of the replica are certainly on disk."""
        return as_int(self.state["flushed", (r,)])

    @property
    def newest(self) -> int:
        return as_int(self.state["newest", ()])

    def last_epoch(self, r: int) -> int | None:
        """Returns the leader epoch of the final record in the replica's log, or None for an
        empty log.
        """
        end = self.end(r)
        return as_int(self.state["replica.entry.leader_epoch", (r, end - 1)]) if end else None

    def led_without_append(self, r: int, epoch: int) -> bool:
        """Returns True if the replica began to lead in the leader epoch, but has appended no
        record in it.
        """
        if not (0 <= epoch <= self.newest and self.state["led.begun", (epoch,)]):
            return False
        # The replica's log then ends where it ended when the epoch began.
        start, end = (as_int(self.state[f"led.{n}_offset", (epoch,)]) for n in ("start", "end"))
        return as_int(self.state["leader", (epoch,)]) == r and start == end == self.end(r)

    def missing(self, r: int, end: int) -> str:
        """Returns a text on the committed records that the replica would lack if its log ended
        at the offset `end`.
        """
        committed = as_int(self.state["committed_end", ()])
        missing = [o for o in range(committed) if o >= end or not self._has_committed(r, o)]
        if not missing:
            return f"it has all {committed} committed records"
        return (
            f"it lacks {len(missing)} of {committed} committed records, from offset {missing[0]} on"
        )

    def kept(self, r: int) -> int:
        """Returns the largest offset below which the replica's log has every committed record."""
        end = as_int(self.state["committed_end", ()])
        has = (o for o in range(end) if o >= self.end(r) or not self._has_committed(r, o))
        return next(has, end)

    def may_lack(self, epoch: int) -> bool:
        """Returns True if the leader of an epoch may lack committed records when it begins to lead.

        A leader epoch is *lossy* if a step before the election of its leader may have lost records,
        for example an unclean election. Two conditions must be true: `epoch` is lossy, and no
        leader of a later, lossy epoch has begun to lead (`is_replaced`).
        """
        return bool(self.state["lossy", (epoch,)]) and not self.is_replaced(epoch)

    def is_replaced(self, epoch: int) -> bool:
        """Returns True if the leader of a later, lossy epoch (see `may_lack`) has begun to lead."""
        return self._replacing(epoch) is not None

    def _replacing(self, epoch: int) -> int | None:
        for newer in range(epoch + 1, self.newest + 1):
            if self.state["lossy", (newer,)] and self.state["led.begun", (newer,)]:
                return newer
        return None

    def is_elected_again(self, epoch: int) -> bool:
        names = ("leader", "vacant")
        before, now = (
            [self.state[name, (e,)] for name in names] for e in (max(epoch - 1, 0), epoch)
        )
        return epoch > 0 and before == now

    def losses(self, steps: Sequence[LossyStep]) -> Iterator[Loss]:
        """Yields the losses of committed records, in the order of the leader epochs.

        `steps` are the steps of the trace that may have lost records. If there are none, nothing is
        yielded.
        """
        if not steps:
            return
        names = {r: broker for broker, r in self.replicas.items()}
        settled = -1
        for e in range(self.newest + 1):
            leader = names[as_int(self.state["leader", (e,)])]
            if self.state["lossy", (e,)] and self.state["led.begun", (e,)]:
                kept, end = (as_int(self.state[f"lost.{n}", (e,)]) for n in ("kept", "end"))
                since = tuple(step for step in steps if settled < step.leader_epoch <= e)
                settled = e
                if kept < end:
                    yield Loss(
                        offsets=tuple(range(kept, end)),
                        committed=end,
                        why=f"broker {leader} begins leader epoch {e}",
                        steps=since,
                    )
            if self.state["late", (e,)]:
                yield from self._too_late(e, leader, steps)

    def _too_late(self, e: int, leader: int, steps: Sequence[LossyStep]) -> Iterator[Loss]:
        # Too late: after a newer leader had begun to lead without these records.
        newer = self._replacing(e)
        assert newer is not None, "a leader that commits too late was replaced"
        late = as_int(self.state["late", (e,)])
        start = as_int(self.state["led.start_offset", (newer,)])
        # Records that the newer leader has are not lost.
        lost = tuple(o for o in range(late) if o >= start or not self._same(e, newer, o))
        if lost:
            yield Loss(
                offsets=lost,
                committed=late,
                why=f"broker {leader} commits in leader epoch {e}, after leader epoch {newer}",
                steps=tuple(step for step in steps if step.leader_epoch <= newer),
            )

    def _same(self, one: int, other: int, o: int) -> bool:
        return all(
            self.state[f"led.entry.{name}", (one, o)] == self.state[f"led.entry.{name}", (other, o)]
            for name in ("leader_epoch", "message")
        )

    def _has_committed(self, r: int, o: int) -> bool:
        return all(
            self.state[f"replica.entry.{name}", (r, o)] == self.state[f"committed.{name}", (o,)]
            for name in ("leader_epoch", "message")
        )

    def shown(self, registered: Registration, node: int) -> Iterator[str]:
        """Yields lines of text: one on the partition's registration in the controller, and some on
        each replica. An arrow marks the replica of the broker `node`.
        """
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
