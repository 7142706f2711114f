"""The powers of a system: the faults that a trial can cause in it, and what a trial can record.

The powers follow from the system's abilities, its proxies and the settings of its brokers.
"""

from __future__ import annotations

import gzip
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.systems.apache_kafka.addresses import Addresses
from checkers.systems.apache_kafka.cluster import Cluster
from checkers.systems.apache_kafka.jars import Jars
from checkers.systems.proxies.proxies import Proxies
from checkers.systems.proxies.rules import DropResponse, Hold, Match, Rule
from checkers.systems.system import Layout
from checkers.trials import evidence
from checkers.trials.broker_faults import Inflicted
from checkers.trials.deciding import Again, Effort, Judged, decide
from checkers.trials.inside import inside_of
from checkers.trials.layout import KAFKA
from checkers.trials.links import is_between_brokers, proxied
from checkers.trials.pace import Pace
from checkers.trials.powers import impossible, powers_of
from checkers.trials.trial import Ran, Trials
from model.vocabulary import LeaderEpoch
from properties.suites.machines.driven import Power
from properties.suites.registry import suite_named
from properties.suites.search.programs import Call
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.protocol.messages import FIRST_CLIENT, NodeId
from reference_impl.simulation import faults
from reference_impl.wire.messages.apis import Api

TRACE = Path(__file__).parents[2] / "data" / "kafka_trace"
ALWAYS = {Power.KILL, Power.PAUSE, Power.ADMINISTER, Power.WIPE}


def cluster(folder: Path, layout: Layout, proxies: Proxies | None = None) -> Cluster:
    """Returns a cluster of Apache Kafka that was never started."""
    jars = Jars(version="4.3.0", folder=folder)
    addresses = Addresses.free(range(4), proxied=proxies is not None)
    watchdog = subprocess.Popen(["true"])
    watchdog.wait()
    return Cluster(folder, jars, layout, addresses, proxies, watchdog)


def test_a_cluster_that_logs_its_flushes_can_lose_power(tmp_path: Path) -> None:
    (tmp_path / "log4j-core-2.24.3.jar").touch()
    assert powers_of(cluster(tmp_path, Layout())) == ALWAYS | {Power.LOSE_POWER}


@pytest.mark.parametrize(
    ("layout", "more"),
    [
        (Layout(), set[Power]()),
        (KAFKA, {Power.RETAIN}),
        (Layout(traced=True), {Power.INSIDE}),
        (Layout(settings={"transaction.state.log.replication.factor": "1"}), set[Power]()),
        (
            Layout(
                settings={
                    "transaction.state.log.replication.factor": "1",
                    "transaction.state.log.min.isr": "1",
                    "offsets.topic.replication.factor": "1",
                }
            ),
            {Power.ONE_REPLICA},
        ),
        (Layout(settings={"offsets.retention.minutes": "1"}), {Power.EXPIRE}),
        (
            Layout(settings={"transaction.partition.verification.enable": "false"}),
            {Power.UNVERIFIED},
        ),
    ],
)
def test_settings_and_traces_give_powers(tmp_path: Path, layout: Layout, more: set[Power]) -> None:
    assert powers_of(cluster(tmp_path, layout)) == ALWAYS | more


def test_the_evidence_has_the_logs_of_all_nodes_and_the_traces_of_the_partition(
    tmp_path: Path,
) -> None:
    system = cluster(tmp_path / "cluster", Layout(traced=True))
    for node in system.nodes:
        system.log(node).parent.mkdir(parents=True)
        system.log(node).write_text(f"node {node}\n")
        system.trace(node).write_text("1 a-orders-0 x\n2 other-0 y\n")
    suite = suite_named("log")
    ran = Ran(
        setting="several",
        calls=(Call("heal"),),
        is_observed=True,
        shown={},
        stuck=None,
        history=(),
        inflicted=(Inflicted(at_ns=5, fault="broker 1 is killed"),),
        seconds=1.0,
    )
    judged = Judged(
        side=suite.inside[0],
        verdict="violated",
        why="v1 is lost",
        trials=1,
        evidence=ran,
        again=Again(shown=1, runs=3),
    )
    folder = evidence.kept(tmp_path / "run", suite, judged, system)
    assert folder is not None
    for node in range(4):
        assert gzip.decompress((folder / f"node-{node}.log.gz").read_bytes()) == (
            f"node {node}\n".encode()
        )
        trace = gzip.decompress((folder / f"node-{node}.trace.gz").read_bytes())
        assert trace == b"1 a-orders-0 x\n"
    head = (folder / evidence.PROGRAM).read_text().splitlines()[0]
    assert head == ("# consumer_order (several): violated; v1 is lost; again in 1 of 3 runs")
    other = evidence.kept(tmp_path / "run", suite, judged, system)
    assert other is not None
    assert other.name == f"{folder.name}-2"
    assert evidence.kept(tmp_path, suite, replace(judged, evidence=None), system) is None


def test_a_traced_cluster_shows_the_states_of_replicas_since_the_trial_began(
    tmp_path: Path,
) -> None:
    system = cluster(tmp_path, Layout(traced=True))
    for node in system.nodes:
        system.trace(node).parent.mkdir(parents=True)
        if node:  # the controller's trace does not exist yet
            system.trace(node).write_text("1 INFO earlier [t] no layout of ours: tt-0\n")
    inside = inside_of(system, "tt-0")
    assert inside is not None
    for node in system.nodes:
        with system.trace(node).open("ab") as trace:
            trace.write(gzip.decompress((TRACE / f"broker-{node}.log.gz").read_bytes()))
    segment = system.log_dir(2) / "tt-0" / "00000000000000000000.log"
    segment.parent.mkdir(parents=True)
    segment.write_bytes(encode((Record(value=b"v0"),), leader_epoch=LeaderEpoch(0)))
    seen = tuple(inside.moments([], lambda at_ns: at_ns // 1_000_000))
    assert seen[0].replicas.keys() == {1, 2, 3}
    assert seen[-1].replicas[1].log[0] == (0, 0, "v0")
    assert inside_of(cluster(tmp_path, Layout()), "tt-0") is None


def test_proxies_give_cuts_and_delays(tmp_path: Path) -> None:
    with Proxies() as proxies:
        found = powers_of(cluster(tmp_path, Layout(proxied=True), proxies))
    assert found == ALWAYS | {Power.CUT, Power.DELAY}


def test_a_cluster_with_weaker_settings_decides_only_the_sides_that_need_them(
    tmp_path: Path,
) -> None:
    suite = suite_named("transactions")
    verified = replace(
        KAFKA,
        settings={**KAFKA.settings, "transaction.partition.verification.enable": "false"},
    )
    for layout, side, why in (
        (
            verified,
            suite.inside[0],
            "the settings of the brokers are outside this condition: they accept transactional "
            "records without verification",
        ),
        (
            KAFKA,
            next(side for side in suite.outside if side.setting == "V1, not verified"),
            "this needs a system that can accept transactional records without verification "
            "(--broker-config transaction.partition.verification.enable=false)",
        ),
    ):
        on = Trials(cluster(tmp_path, layout), 10)
        (judged,) = decide(on, suite, (side,), seed=0, effort=Effort(), progress=print)
        assert (judged.verdict, judged.trials, judged.why) == ("undecided", 0, why)


def test_a_fault_that_ends_the_process_of_a_system_is_not_tried() -> None:
    why = impossible("librdkafka-mock", "groups", "KIP-848, soon forgotten")
    assert "fails an assertion" in why
    assert impossible("librdkafka-mock", "groups", "classic") == ""
    assert impossible("kfake", "groups", "KIP-848") == ""


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        (
            faults.On(api="WriteTxnMarker", count=2, does=faults.Lose()),
            DropResponse(of=Match(api=Api.WRITE_TXN_MARKERS, count=2)),
        ),
        (
            faults.On(api="WriteTxnMarker", topic="o", moment="before", does=faults.Hold(550)),
            Hold(of=Match(api=Api.WRITE_TXN_MARKERS, count=1), for_ms=5_500),
        ),
        (
            faults.On(
                api="AddPartitionsToTxn", source=NodeId(2), target=NodeId(-1), does=faults.Hold(27)
            ),
            Hold(
                of=Match(sender=2, receiver=0, api=Api.ADD_PARTITIONS_TO_TXN, count=1),
                part="response",
                for_ms=270,
            ),
        ),
    ],
)
def test_a_fault_on_a_request_between_brokers_is_a_rule_of_a_proxy(
    fault: faults.On, rule: Rule
) -> None:
    assert is_between_brokers(fault)
    assert proxied(fault, Pace(10)) == rule


def test_a_fault_on_a_request_of_a_client_is_none_between_brokers() -> None:
    assert not is_between_brokers(faults.On(api="EndTxn"))
    assert not is_between_brokers(faults.On(api="Produce", source=NodeId(FIRST_CLIENT + 1)))
