"""The table `LADDER` has the bounds at which each truncation protocol breaks `strong_isr`.

The bounds are numbers of replicas and of leader epochs. The first protocol truncates to the high
watermark. The next ones are KIP-101, KIP-279 and later KIPs.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from checkers.explicit.search import explore
from model.replication.ladder import LADDER, Rung
from model.specs import find


def label(rung: Rung) -> str:
    return f"{rung.version}-{rung.replicas}-{rung.leader_epochs}"


@pytest.mark.parametrize("rung", LADDER, ids=label)
def test_each_version_holds_or_fails_at_each_scope_as_recorded(rung: Rung) -> None:
    spec = find("replication", rung.version).make(rung.constants)
    found = explore(spec, properties=["strong_isr"])
    if rung.fails_in is None:
        assert found.discoveries["strong_isr"].verdict == "holds"
        assert found.distinct == rung.holds_in
    else:
        assert found.discoveries["strong_isr"].steps == rung.fails_in


def test_every_version_but_the_last_two_fails_at_some_scope() -> None:
    failing: dict[tuple[int, int], set[str]] = {}
    for rung in LADDER:
        at = failing.setdefault((rung.replicas, rung.leader_epochs), set())
        at |= {rung.version} if rung.fails_in else set()
    in_order = list(failing.values())
    assert all(smaller < larger for smaller, larger in pairwise(in_order))
    assert [len(at) for at in in_order] == [1, 2, 3, 4]
    assert {r.version for r in LADDER} - in_order[-1] == {"kip-320", "fetch-divergence"}
