"""A counterexample of a controller that does not notice an unclean stop, run with that bug.

    election admits-unclean    unclean-shutdown-unnoticed    leader_completeness

As in `plans`, on a whole cluster, of two brokers that both have to be in sync. The leader loses its
power, and with it the record that was acknowledged; the other broker has it, and is not heard. Who
leads, who is up, what is in the logs and what was committed are read as cells of the spec, which
are all that the claim speaks of, and it is the spec's own formula.

Simplified: the power is lost when the controller is to notice, so that the two sessions end in the
order of the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from model.election.versions import Election
from model.language.interpreter import Cell, Interpreter, Value
from properties.refinement.log_entries import Messages
from properties.refinement.replays.replication import WAIT_MS, Deed, Stage
from reference_impl.node.bugs import NO_BUGS, Bug
from reference_impl.protocol.messages import NO_BROKER
from reference_impl.simulation.cluster import QUICK, Cluster

BROKERS: Final = 2
AWHILE_MS: Final = 2_000  # long enough to be heard again, and elected
UNFLUSHED: Final = replace(QUICK, checkpoint_ms=60_000)  # not within the time of a plan


def isolate(stage: Stage) -> None:
    """The broker that does not lead is heard by nobody, until it is fenced."""
    cluster = stage.cluster
    (other,) = {*cluster.broker_ids} - {cluster.leader()}
    cluster.isolate(other)
    cluster.run_until(lambda: other not in cluster.in_sync(), WAIT_MS)


def lose_power(stage: Stage) -> None:
    """The leader stops, and keeps nothing that was not flushed; nobody leads."""
    cluster = stage.cluster
    cluster.lose_power(cluster.leader())
    cluster.run_until(lambda: cluster.leader() == NO_BROKER, WAIT_MS)


def restart(stage: Stage) -> None:
    """Who stopped begins another life."""
    for broker in stage.cluster.broker_ids:
        stage.cluster.restart(broker)


def wait(stage: Stage) -> None:
    """What can happen by itself does."""
    stage.cluster.run_for(AWHILE_MS)


DEEDS: Final[Mapping[str, Deed]] = {
    "write": Stage.send,
    "advance_high_watermark": Stage.commit,
    "expire_session": isolate,
    "detect_crash": lose_power,
    "register": restart,
    "unfence": wait,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UncleanStopReplay:
    """A variant of `election`, the switch of the broker, and the claim that both break."""

    variant: str
    bug: Bug
    claim: str

    def carried_out(self, actions: Iterable[str], *, with_bug: bool) -> Stage:
        """The cluster at the end of the plan; actions without a deed happen by themselves."""
        bugs = frozenset({self.bug}) if with_bug else NO_BUGS
        cluster = Cluster(
            brokers=BROKERS, min_insync_replicas=BROKERS, timeouts=UNFLUSHED, bugs=bugs
        )
        stage = Stage(cluster, cluster.add_producer())
        cluster.run_for(50)
        for action in actions:
            if action in DEEDS:
                DEEDS[action](stage)
        return stage

    def holds(self, stage: Stage) -> bool:
        """Whether the claim is true there."""
        ends = [stage.cluster.log(broker).end_offset for broker in stage.cluster.broker_ids]
        size = max(1, *ends)
        spec = Election(replicas=BROKERS, min_isr=BROKERS, log_size=size, max_records=size)
        (formula,) = (c.formula for c in spec.claims if c.name == self.claim)
        return Interpreter.of(spec).holds(formula, cells(stage))


def cells(stage: Stage) -> Mapping[Cell, Value]:
    """Who leads and is up, and which records are where; one broker has stopped uncleanly."""
    cluster, messages = stage.cluster, Messages()
    committed = {message for _, _, message in messages.of(stage.committed)}
    leader = cluster.leader()
    read: dict[Cell, Value] = {
        ("partition_registration.leader", ()): None
        if leader == NO_BROKER
        else cluster.broker_ids.index(leader),
        ("unclean", ()): 1,
    }
    for r, broker in enumerate(cluster.broker_ids):
        log = cluster.log(broker)
        read["broker.is_up", (r,)] = cluster.is_up(broker)
        read["broker.end_offset", (r,)] = log.end_offset
        for offset, _, message in messages.of(log):
            read["broker.record", (r, offset)] = message
    for message in range(stage.sent + 1):
        read["committed", (message,)] = message in committed
    return read


UNCLEAN_STOP_REPLAYS: Final = (
    UncleanStopReplay(
        variant="admits-unclean",
        bug=Bug.UNCLEAN_SHUTDOWN_UNNOTICED,
        claim="leader_completeness",
    ),
)
