"""Executable definitions of the claims about the in-sync set, elections and committed records.

`Watched` has the history of the clients, the final log, and the states of all replicas after each
change. Two records are equal if their offsets, leader epochs and values are equal.

A claim that something can happen has goals (`SOMETIMES`). A goal is a situation that at least one
run must reach.

Source: docs/sources.md DOC0, DOC3; KIP-966; hachikuji/kafka-specification; Vanlightly's
specifications of replication.
Simplified: while a broker is down, its replica has the log from before the crash. If a power loss
destroyed records, they are missing only after the restart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from properties.claims.breach import Always, Breach, Sometimes
from properties.claims.replication import Published, committed_survives

NOBODY: Final = -1
NS_PER_MS: Final = 1_000_000


class Entry(NamedTuple):
    offset: int
    leader_epoch: int
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """The state of one replica at one time of the run.

    `leads` and `in_sync` are what the replica itself knows: whether it leads, and the in-sync set.
    """

    is_up: bool = True
    is_registered: bool = True  # the controller has registered the broker since its last start
    leads: bool = False  # in its own view
    leader_epoch: int = 0
    in_sync: tuple[int, ...] = ()  # in its own view
    high_watermark: int = 0
    log: tuple[Entry, ...] = ()

    @property
    def committed(self) -> tuple[Entry, ...]:
        """The records below the replica's own high watermark."""
        return self.below(self.high_watermark)

    def below(self, offset: int) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.log if entry.offset < offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The state of the topic partition after one event: a step of a broker, a step of the
    controller, or a fault.
    """

    at_ms: int
    leader: int  # of the controller
    leader_epoch: int
    in_sync: tuple[int, ...]
    eligible: tuple[int, ...] = ()  # the ELR (KIP-966)
    replicas: Mapping[int, Replica]

    @property
    def leaders(self) -> Iterator[tuple[int, Replica]]:
        """The replicas that act as leader, each with its broker id. A replaced leader acts as
        leader until it learns of the new leader, so there may be several.
        """
        return ((name, replica) for name, replica in self.replicas.items() if replica.leads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    published: Published
    moments: tuple[Moment, ...]
    min_insync_replicas: int

    def acknowledged(self) -> Iterator[tuple[str, Moment]]:
        for operation, sent in self.published.sends("ok"):
            assert operation.completed_ns is not None
            at_ms = operation.completed_ns // NS_PER_MS
            yield sent.value, [seen for seen in self.moments if seen.at_ms <= at_ms][-1]

    def before_read(self) -> Watched:
        """Returns the run without the states after the time when a reader began to read the final
        log.

        If that time was not recorded, the function returns the whole run.
        """
        read_at_ms = self.published.read_at_ms
        if read_at_ms is None:
            return self
        return replace(self, moments=tuple(one for one in self.moments if one.at_ms < read_at_ms))


def _claim(
    definition: Callable[[Watched], Iterator[str]],
) -> Callable[[Watched], tuple[Breach, ...]]:
    return partial(_breaches, definition)


def _breaches(
    definition: Callable[[Watched], Iterator[str]], watched: Watched
) -> tuple[Breach, ...]:
    return tuple(Breach(definition.__name__, why) for why in definition(watched))


def _lost(watched: Watched) -> Iterator[str]:
    return (breach.why for breach in committed_survives(watched.published))


# ---------------------------------------------------------------- claims that hold always


def committed_definition(watched: Watched) -> Iterator[str]:
    """Claim: every ISR member has each record that was ever below a leader's high watermark.

    The claim also says that a leader's high watermark does not advance while the leader's ISR is
    smaller than min.insync.replicas.
    """
    for seen, committed in _committed(watched):
        for member in seen.in_sync:
            missing = committed.difference(seen.replicas[member].log)
            if missing:
                yield (
                    f"{min(missing).value} was committed at offset {min(missing).offset}, but at "
                    f"{seen.at_ms} ms replica {member} is in sync without it"
                )
    yield from (
        f"leader {name} advanced its high watermark to {after} with {in_sync} in sync, "
        f"min.insync.replicas is {watched.min_insync_replicas}"
        for name, in_sync, after in _advances(watched)
        if in_sync < watched.min_insync_replicas
    )


def _committed(watched: Watched) -> Iterator[tuple[Moment, set[Entry]]]:
    committed: set[Entry] = set()
    for seen in watched.moments:
        for _, leader in seen.leaders:
            committed.update(leader.committed)
        yield seen, committed


def _advances(watched: Watched) -> Iterator[tuple[int, int, int]]:
    """Yields (leader, ISR size, new high watermark) for each advance of a leader's high watermark.

    An advance is included only if the leader, its epoch and its ISR did not change at the same
    time.
    """
    for before, after in pairwise(watched.moments):
        for name, leader in after.leaders:
            was = before.replicas[name]
            if (was.leads, was.leader_epoch, was.in_sync) == (
                True,
                leader.leader_epoch,
                leader.in_sync,
            ) and was.high_watermark < leader.high_watermark:
                yield name, len(leader.in_sync), leader.high_watermark


def identical_replicas(watched: Watched) -> Iterator[str]:
    """Claim: two replicas have the same records below the lower of their high watermarks."""
    for seen in watched.moments:
        for (one, mine), (other, yours) in combinations(seen.replicas.items(), 2):
            both = min(mine.high_watermark, yours.high_watermark)
            if mine.below(both) != yours.below(both):
                yield f"at {seen.at_ms} ms replicas {one} and {other} differ below offset {both}"


def min_isr_refuses(watched: Watched) -> Iterator[str]:
    """Claim: when a record is acknowledged, at least min.insync.replicas replicas have it."""
    for value, seen in watched.acknowledged():
        have = [name for name, replica in seen.replicas.items() if _has(replica, value)]
        if len(have) < watched.min_insync_replicas:
            yield (
                f"{value} was acknowledged at {seen.at_ms} ms with {len(have)} replicas having it, "
                f"min.insync.replicas is {watched.min_insync_replicas}"
            )


def _has(replica: Replica, value: str) -> bool:
    return any(entry.value == value for entry in replica.log)


def survives_f_failures(watched: Watched) -> Iterator[str]:
    """Claim: if a record is acknowledged while all replicas are in sync, the record is never lost.

    The claim is Kafka's promise that a topic partition with f + 1 replicas survives the failure of
    f replicas.
    """
    kept = watched.published.offsets_of()
    for value, seen in watched.acknowledged():
        if len(seen.in_sync) == len(seen.replicas) and value not in kept:
            yield f"{value} was acknowledged with all replicas in sync, but is not in the log"


def clean_election(watched: Watched) -> Iterator[str]:
    """Claim: while a member of the ISR or the ELR is up, no other broker is elected.

    A broker that restarts after a crash may have lost records. So it is treated as down until it
    has registered with the controller after the restart (KIP-966). In addition, no send may end
    with an error, and no acknowledged record may be lost.
    """
    for before, after in pairwise(watched.moments):
        candidates = {*before.in_sync, *before.eligible}
        replicas = (before.replicas[name] for name in candidates)
        lives = any(replica.is_up and replica.is_registered for replica in replicas)
        is_new = after.leader_epoch > before.leader_epoch and after.leader != NOBODY
        if is_new and lives and after.leader not in candidates:
            yield f"{after.leader} was elected, but {_names(candidates)} were in sync"
    for operation, sent in watched.published.sends("info", "fail"):
        if operation.completed_ns is not None:
            yield f"the send of {sent.value} ended with {operation.error}"
    yield from _lost(watched)


def wait_for_last_leader(watched: Watched) -> Iterator[str]:
    """Claim: after a time without a leader, only a member of the last ISR or ELR is elected.

    The last ISR and the last ELR are the two sets just before the topic partition lost its leader.
    The claim also breaks if an acknowledged record is lost.
    """
    candidates: set[int] = set()
    for before, after in pairwise(watched.moments):
        if before.leader != NOBODY:
            candidates = {*before.in_sync, *before.eligible}
        elif after.leader != NOBODY and after.leader not in candidates:
            yield f"after {_names(candidates)} had been in sync last, {after.leader} was elected"
    yield from _lost(watched)


def _names(brokers: set[int]) -> str:
    return " and ".join(map(str, sorted(brokers)))


def writes_to_leader(watched: Watched) -> Iterator[str]:
    """Claim: a leader epoch has only one leader and, at each offset, only one value.

    The claim also says that the final log has every record that a leader committed before the
    reader of the final log began. With acks=1, a record may be committed after the reader began.
    Such a record may be missing.
    """
    led: defaultdict[int, set[int]] = defaultdict(set)
    written: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for seen in watched.moments:
        for name, leader in seen.leaders:
            led[leader.leader_epoch].add(name)
        for replica in seen.replicas.values():
            for entry in replica.log:
                written[entry.offset, entry.leader_epoch].add(entry.value)
    for epoch, leaders in led.items():
        if len(leaders) > 1:
            yield f"{_names(leaders)} both led in leader epoch {epoch}"
    for (offset, epoch), values in written.items():
        if len(values) > 1:
            yield f"leader epoch {epoch} has {' and '.join(sorted(values))} at offset {offset}"
    log = dict(watched.published.log)
    *_, (_, committed) = _committed(watched.before_read())
    for entry in sorted(committed):
        if log.get(entry.offset) != entry.value:
            yield f"{entry.value} was committed at offset {entry.offset}, but is not in the log"


ALWAYS: Final[Always] = {
    definition.__name__: _claim(definition)
    for definition in (
        committed_definition,
        identical_replicas,
        min_isr_refuses,
        survives_f_failures,
        clean_election,
        wait_for_last_leader,
        writes_to_leader,
    )
}


# ---------------------------------------------------------------- things that can happen


def a_failed_replica_leaves(watched: Watched) -> bool:
    """Returns True if, at some moment of the run, a broker is no longer in the ISR and is down."""
    return any(
        not after.replicas[name].is_up and name not in after.in_sync
        for before, after in pairwise(watched.moments)
        for name in before.in_sync
    )


def the_leader_commits_alone(watched: Watched) -> bool:
    """Returns True if the run has a leader that advanced its high watermark while it was alone in
    the ISR.
    """
    return any(in_sync == 1 for _, in_sync, _ in _advances(watched))


def acknowledged_and_lost(watched: Watched) -> bool:
    """Returns True if, at the end of the run, an acknowledged value is not in the log."""
    return any(True for _ in _lost(watched))


def a_replica_drops_what_was_committed(watched: Watched) -> bool:
    """Returns True if, during the run, a replica lost a record that some leader had committed
    before.
    """
    for (before, committed), (after, _) in pairwise(_committed(watched)):
        for name, replica in before.replicas.items():
            if committed.intersection(replica.log).difference(after.replicas[name].log):
                return True
    return False


SOMETIMES: Final[Sometimes] = {
    "isr_shrinks": {
        "a failed replica leaves": a_failed_replica_leaves,
        "the leader commits alone": the_leader_commits_alone,
    },
    "unclean_election": {
        "acknowledged and lost": acknowledged_and_lost,
        "a replica drops what was committed": a_replica_drops_what_was_committed,
    },
}
