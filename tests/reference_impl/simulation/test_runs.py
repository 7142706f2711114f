"""Simulated clusters keep all guarantees under many faults, and equal seeds repeat a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest

from model.histories import Send
from model.vocabulary import BrokerId
from reference_impl.node.bugs import Bug
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.faults import At, Crash
from reference_impl.simulation.network import CALM, Conditions
from reference_impl.simulation.programs import Application, Program
from reference_impl.simulation.runs import (
    IDEMPOTENT,
    Run,
    Scenario,
    draw_core,
    draw_faults,
    run,
)
from reference_impl.simulation.sender import Sender
from reference_impl.simulation.sweeps import SWEEPS
from reference_impl.simulation.world import NoProgress

BROKERS = tuple(map(BrokerId, (1, 2, 3)))
ROUGH = Conditions(jitter_ms=15, loss=3, doubling=5)


def faulty(seed: int, *, bugs: frozenset[Bug] = frozenset(), conditions: Conditions = CALM) -> Run:
    return run(
        Scenario(
            seed=seed,
            producers=(IDEMPOTENT, IDEMPOTENT),
            sends=60,
            send_every_ms=40,
            conditions=conditions,
            faults=draw_faults(seed, BROKERS, count=4, every_ms=600),
            bugs=bugs,
        )
    )


def acknowledged(run_: Run) -> dict[str, int | None]:
    return {
        did.value: did.offset
        for operation in run_.history
        if operation.outcome == "ok"
        for did in operation.did
        if isinstance(did, Send)
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("conditions", [CALM, ROUGH], ids=["calm", "rough"])
def test_each_value_is_in_the_log_once_in_order_at_its_acknowledged_offset(
    seed: int, conditions: Conditions
) -> None:
    found = faulty(seed, conditions=conditions)
    assert acknowledged(found) == {value: offset for offset, value in found.log}
    for name in "ab":
        mine = [value for _, value in found.log if value.startswith(name)]
        assert mine == [f"{name}{number}" for number in range(60)]


@pytest.mark.parametrize("name", ["publish", "rough", "machines"])
@pytest.mark.parametrize("liveness", [False, True], ids=["safety", "liveness"])
def test_producer_guarantees_hold_in_both_modes(name: str, liveness: bool) -> None:
    for seed in range(3):
        found = run(replace(SWEEPS[name].scenario(seed), liveness=liveness))
        assert acknowledged(found).items() <= {value: at for at, value in found.log}.items()
        assert max(Counter(value for _, value in found.log).values()) == 1


def test_a_smallest_core_makes_progress_and_the_others_stay_down() -> None:
    cluster = Cluster(min_insync_replicas=2)
    assert {draw_core(seed, cluster) for seed in range(20)} == {*combinations(BROKERS, 2)}
    first, second, third = BROKERS
    cluster.crash(first)
    cluster.run_for(1_000)
    cluster.crash(second)  # it may have lost the end of its log: alone, it must not lead
    assert cluster.may_do_alone((first, third))
    assert not cluster.may_do_alone((first, second))
    assert not cluster.may_do_alone((third,))
    cluster.recover(core=(first, third))
    assert not cluster.is_up(second)
    assert cluster.in_sync() == (first, third)


def test_an_insufficient_core_makes_no_progress() -> None:
    cluster = Cluster(min_insync_replicas=2)
    cluster.send(cluster.add_producer(), "a")
    with pytest.raises(NoProgress):
        cluster.recover(3_000, core=BROKERS[:1])


def test_applications_finish_before_the_log_is_read() -> None:
    def sends(app: Application) -> Program:
        sender = Sender(app=app, brokers=BrokerClient(app=app))
        for number in range(20):
            yield from sender.send(TOPIC_PARTITION, f"p{number}")

    found = run(Scenario(producers=(), programs=(sends,), faults=(At(5, Crash(BROKERS[0])),)))
    assert [value for _, value in found.log] == [f"p{number}" for number in range(20)]


def test_a_bug_is_seen_in_the_same_runs() -> None:
    found = faulty(0, bugs=frozenset({Bug.NO_DEDUP}))
    assert max(Counter(value for _, value in found.log).values()) > 1


def test_recovery_has_a_time_limit_and_exceeding_it_raises_no_progress() -> None:
    plan = (At(50, Crash(BROKERS[0])),)
    relaxed = run(Scenario(faults=plan, sends=20))
    assert relaxed.virtual_ms < 5_000
    with pytest.raises(NoProgress, match="not within 100 ms"):
        run(Scenario(faults=plan, sends=20, recovery_ms=100))


def test_equal_seeds_give_equal_traces_and_other_seeds_others() -> None:
    digests = [faulty(seed, conditions=ROUGH).trace.digest() for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_a_run_does_not_depend_on_the_hash_seed() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", _SCENARIO],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "4242")
    }
    assert digests == {faulty(3, conditions=ROUGH).trace.digest() + "\n"}


_SCENARIO = """
from model.vocabulary import BrokerId
from reference_impl.simulation.network import Conditions
from reference_impl.simulation.runs import IDEMPOTENT, Scenario, draw_faults, run
ROUGH = Conditions(jitter_ms=15, loss=3, doubling=5)
def faulty(seed, conditions):
    plan = draw_faults(seed, tuple(map(BrokerId, (1, 2, 3))), count=4, every_ms=600)
    return run(Scenario(seed=seed, producers=(IDEMPOTENT, IDEMPOTENT), sends=60, send_every_ms=40,
                        conditions=conditions, faults=plan))
print(faulty(3, ROUGH).trace.digest())
"""


def test_a_trace_of_group_members_has_their_metadata_in_hexadecimal() -> None:
    found = run(SWEEPS["pipeline"].scenario(3))
    lines = [json.loads(line) for line in found.trace.lines()]
    sync = next(line for line in lines if line["action"] == "SyncGroup")
    assert all(bytes.fromhex(owned) for _, owned in sync["args"]["assignments"])


def test_a_trace_is_lines_of_json_with_the_state_after_each_step() -> None:
    found = run(Scenario(sends=9, faults=(At(80, Crash(BROKERS[0])),)))
    lines = [json.loads(line) for line in found.trace.lines()]
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert [line["at_ms"] for line in lines] == sorted(line["at_ms"] for line in lines)
    produced = next(line for line in lines if line["action"] == "Produce")
    assert produced["post"]["orders-0"]["end_offset"] == 1
    assert produced["args"]["batches"][0]["records"] == 1
    assert {"Crash", "timer fetch", "AlterPartition", "send a0"} <= {
        line["action"] for line in lines
    }
