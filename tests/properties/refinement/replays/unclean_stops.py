"""Replays a counterexample in which the controller does not notice that a broker stopped uncleanly.

The row has the spec and its variant (the spec with a seeded bug), the bug of the broker, and the
claim that the counterexample violates:

    spec and variant           bug of the broker             claim
    election admits-unclean    unclean-shutdown-unnoticed    leader_completeness

The harness is a cluster of two brokers with min.insync.replicas=2. One broker leads. The other
broker copies the acknowledged record, and is then isolated. Then the leader loses power, and its
copy of the record is gone. The replay reads only the values that the claim needs: the leader, the
running brokers, the logs and the committed records.

Simplified: in the counterexample, the controller first ends the session of the isolated broker, and
then the session of the leader. To preserve this order, the harness cuts the leader's power only in
the action `detect_crash`, in which the controller ends the leader's session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from model.election.versions import Election
from model.language.interpreter import Cell, Value
from properties.refinement.log_entries import Messages
from reference_impl.node.bugs import Bug
from reference_impl.protocol.messages import NO_BROKER
from reference_impl.simulation.cluster import QUICK, Cluster
from tests.properties.refinement.replays.replay import Defect, Effect, Reading, Replay, with_bug
from tests.properties.refinement.replays.replication import WAIT_MS, ReplicationHarness

BROKERS: Final = 2
AWHILE_MS: Final = 2_000  # long enough for a broker to be unfenced and elected
UNFLUSHED: Final = replace(QUICK, checkpoint_ms=60_000)  # longer than a replay


def isolate(harness: ReplicationHarness) -> None:
    cluster = harness.cluster
    (other,) = {*cluster.broker_ids} - {cluster.leader()}
    cluster.isolate(other)
    cluster.run_until(lambda: other not in cluster.in_sync(), WAIT_MS)


def lose_power(harness: ReplicationHarness) -> None:
    """Cuts the power of the leader, and waits until no broker leads. The leader loses its unflushed
    records.
    """
    cluster = harness.cluster
    cluster.lose_power(cluster.leader())
    cluster.run_until(lambda: cluster.leader() == NO_BROKER, WAIT_MS)


def restart(harness: ReplicationHarness) -> None:
    for broker in harness.cluster.broker_ids:
        harness.cluster.restart(broker)


def wait(harness: ReplicationHarness) -> None:
    harness.cluster.run_for(AWHILE_MS)


EFFECTS: Final[Mapping[str, tuple[Effect]]] = {
    "write": (ReplicationHarness.send,),
    "advance_high_watermark": (ReplicationHarness.commit,),
    "expire_session": (isolate,),
    "detect_crash": (lose_power,),
    "register": (restart,),
    "unfence": (wait,),
}


def _start(defect: Defect) -> ReplicationHarness:
    return ReplicationHarness.of(
        Cluster(
            brokers=BROKERS,
            min_insync_replicas=BROKERS,
            broker_settings=UNFLUSHED,
            bugs=defect.bugs,
        )
    )


def _read(harness: ReplicationHarness) -> Reading:
    ends = [harness.cluster.log(broker).end_offset for broker in harness.cluster.broker_ids]
    size = max(1, *ends)
    spec = Election(replicas=BROKERS, min_isr=BROKERS, log_size=size, max_records=size)
    return Reading(spec, cells(harness))


def cells(harness: ReplicationHarness) -> Mapping[Cell, Value]:
    """Returns the leader, the running brokers and the records as values of the spec's variables.

    The replay has one unclean stop, so the variable that counts unclean stops is 1.
    """
    cluster, messages = harness.cluster, Messages()
    committed = {message for _, _, message in messages.of(harness.committed)}
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
    for message in range(harness.sent + 1):
        read["committed", (message,)] = message in committed
    return read


UNCLEAN_STOP_REPLAYS: Final = (
    Replay(
        spec="election",
        variant="admits-unclean",
        claim="leader_completeness",
        defect=with_bug(Bug.UNCLEAN_SHUTDOWN_UNNOTICED),
        start=_start,
        effects=EFFECTS,
        by_itself=frozenset({"init", "fetch", "lose_power"}),
        read=_read,
    ),
)
