"""A leader that counts fetches of old leader epochs commits a record that an ISR member lacks.

The tests replay the counterexample of the finding `leader-trusts-old-fetches` on three specs. In
one spec the leader counts old fetches, and the last step is a wrong commit. The leaders of the
other two specs do not count these fetches, and the last step is refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from model.language import Spec
from model.replication_abstract.versions import ReplicationProof
from model.user_specs import load
from properties.refinement.behaviour import Behaviour, Call

FILE = Path(__file__).parents[2] / "docs" / "findings" / "keeps_old_fetches.py"
OLD, BETWEEN, FOLLOWER = range(3)  # replicas
SCHEDULE = (
    Call("elect", (BETWEEN, 1)),
    Call("elect", (OLD, 2)),
    Call("shrink_isr", (BETWEEN,)),
    Call("become_leader", (BETWEEN, 1)),
    Call("append", (OLD, 0, 1)),
    Call("fetch_response", (FOLLOWER, 0, 1)),
    Call("fetch_request", (FOLLOWER, 0)),
    Call("become_leader", (OLD, 2)),
    Call("become_follower", (FOLLOWER, 1)),
    Call("truncate", (FOLLOWER, 0)),
    Call("drop_member", (OLD, BETWEEN)),
)
COMMIT = Call("advance_high_watermark", (OLD, 1))


def after_the_schedule(spec: Spec) -> Behaviour:
    sizes = {"Replica": 3, "LeaderEpoch": 3, "Offset": 2, "Message": 1}
    behaviour = Behaviour.initial(spec, sizes, (OLD, 0))
    assert [behaviour.take(call) for call in SCHEDULE] == [None] * len(SCHEDULE)
    return behaviour


def test_a_leader_that_keeps_old_fetches_commits_a_record_that_an_isr_member_lacks() -> None:
    behaviour = after_the_schedule(load(FILE)[-1].cls())
    assert behaviour.take(COMMIT) is None
    assert behaviour.state["committed_end", ()] == 1
    assert behaviour.state["isr", (2, FOLLOWER)]
    assert behaviour.state["replica.end_offset", (FOLLOWER,)] == 0


@pytest.mark.parametrize("cls", [ReplicationProof, load(FILE)[0].cls])
def test_the_other_rules_wait_for_a_fetch_in_the_new_leader_epoch(cls: type[Spec]) -> None:
    refusal = after_the_schedule(cls()).take(COMMIT)
    assert refusal is not None
    assert "fetched" in str(refusal)
