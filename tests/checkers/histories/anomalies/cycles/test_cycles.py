"""The analysis finds the same cycles as the definitions, however a history is partitioned."""

from __future__ import annotations

import random
from contextlib import ExitStack
from unittest.mock import patch

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.anomalies.cycles import anti_dependencies, cycle_search, cycles
from checkers.histories.anomalies.cycles.cycle_search import KIND_OF, Graph, Operations
from checkers.histories.anomalies.cycles.record_dependencies import WR
from checkers.histories.anomalies.findings import Context
from checkers.histories.columnar.rows import as_rows
from checkers.histories.facts.unconfirmed_values import find_unconfirmed
from checkers.histories.plan.stage import in_parallel
from model.histories import History, Isolation, MicroOperation, Operation, Outcome, Poll, Send
from properties.anomalies.cycles import components, cycle
from properties.anomalies.cycles.components import SEARCHED
from properties.anomalies.cycles.cycle import FORMS, Cycle
from properties.anomalies.cycles.forms import anomalies
from properties.anomalies.declarations import Declarations
from tests.checkers.histories.plans import result_of, shuffled

SPREAD = [1, 40_000]  # between offsets: in one block, and in several


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draws transactions that send and poll records of two logs, with some polls out of order."""
    rng = random.Random(draw(st.integers(0, 1 << 40)))
    spread, wide = rng.choice(SPREAD), rng.choice([2, 6, 12])
    odd = rng.choice([0.0, 0.1, 0.3])
    unsent = [(key, place) for key in "kj" for place in range(rng.randrange(9))]
    records = list(unsent)
    resent: list[tuple[str, int]] = []
    made: list[Operation] = []
    free: dict[int, int] = {}
    for number in range(rng.randrange(draw(st.sampled_from([2, 6, 14])))):
        process = rng.randrange(rng.choice([2, 6]))
        at = max(free.get(process, 0), 3 * number + rng.randrange(-wide, wide) + 20)
        ended = at + rng.randrange(wide)
        outcome: Outcome = rng.choice(["ok", "ok", "ok", "ok", "info", "fail"])
        never = outcome == "info" and rng.random() < 0.4
        free[process] = 1 << 40 if never else ended + rng.randrange(2)
        did: list[MicroOperation] = []
        for _ in range(rng.choice([0, 1, 2, 3])):
            if unsent and rng.random() < 0.5:
                key, place = unsent.pop(rng.choice([0, -1]))
                known = outcome != "fail" and rng.random() < 0.9
                offset = place * spread + (rng.random() < odd)
                did.append(Send(key, f"{key}{place}", offset if known else None))
                if outcome == "fail" and rng.random() < 0.5:
                    resent.append((key, place))
            elif records:
                key, place = rng.choice(records)
                polled = rng.choice([place * spread + (rng.random() < odd)] * 9 + [None])
                did.append(Poll(key, polled, f"{key}{place}"))
        unsent += resent
        resent = []
        isolation: Isolation | None = rng.choice([None, "read_committed", "read_uncommitted"])
        if at >= 1 << 40:
            continue
        made.append(
            Operation(
                process=process,
                f="txn",
                outcome=outcome,
                invoked_ns=at,
                completed_ns=None if never else ended,
                did=tuple(did),
                isolation=isolation,
            )
        )
    last = 1 << 60
    return tuple(sorted(made, key=lambda o: last if o.completed_ns is None else o.completed_ns))


def kernel_rows(h: History, declared: Declarations, rows: int, groups: int) -> dict[str, object]:
    with shuffled(h, declared, rows, groups) as sources:
        unconfirmed = result_of(find_unconfirmed(), sources)
        context = Context(declared=declared, unconfirmed=unconfirmed)
        both = in_parallel(
            cycles.dependency_cycles(context), anti_dependencies.anti_dependency_cycles(context)
        )
        found = [one for some in result_of(both, sources) for one in some]
    by = [(name, "ascending") for name in ("first_op", "component")]
    return {one.id: (as_rows(one.rows.sort_by(by), Cycle), one.observations) for one in found}


@settings(max_examples=80, deadline=None)
@given(
    h=histories(),
    deps=st.sets(st.sampled_from(["ww", "rw"])),
    isolation=st.sampled_from(["read_committed", "read_uncommitted"]),
    rows=st.sampled_from([1, 3, 100]),
    groups=st.integers(1, 3),
    searched=st.sampled_from([2, SEARCHED]),
)
def test_kernels_agree_with_the_literal_definitions(
    h: History, deps: set[str], isolation: Isolation, rows: int, groups: int, searched: int
) -> None:
    declared = Declarations(ww_deps="ww" in deps, rw_deps="rw" in deps, isolation=isolation)
    applied = declared.applied(h)
    with ExitStack() as stack:
        for module in (components, cycle, cycle_search, anti_dependencies):
            stack.enter_context(patch.object(module, "SEARCHED", searched))
        literal = {
            one.id: (one.find(applied), one.observed(applied)) for one in anomalies(declared)
        }
        assert kernel_rows(h, declared, rows, groups) == literal


def test_a_cycle_is_shown_for_the_strongest_form_that_allows_it() -> None:
    of = Operations(
        numbers=np.array([7, 8]),
        process=np.array([1, 2]),
        invoked_ns=np.array([0, 0]),
        completed_ns=np.array([9, 9]),
        ok=np.array([True, True]),
    )
    circle = Graph(of, first=np.array([0, 1]), second=np.array([1, 0]), kind=np.array([WR, WR]))
    shown = {
        form: [one.cycle.tolist() for one in some]
        for form, some in cycle_search.cycles(circle).items()
    }
    assert shown == {form: [[7, 8]] if form == "G1c" else [] for form in FORMS}


def sequential(rng: random.Random, count: int) -> Operations:
    ended = sorted(rng.randrange(30) for _ in range(count))
    began = [max(0, end - rng.randrange(9)) for end in ended]
    free = dict.fromkeys(range(4), 0)
    process: list[int] = []
    for number in range(count):
        idle = [one for one, since in free.items() if since <= began[number]]
        process.append(rng.choice(idle) if idle else 4 + number)
        free[process[-1]] = ended[number]
    return Operations(
        numbers=np.arange(count),
        process=np.array(process),
        invoked_ns=np.array(began),
        completed_ns=np.array(ended),
        ok=np.array([rng.random() < 0.8 for _ in range(count)]),
    )


@settings(max_examples=80, deadline=None)
@given(
    count=st.integers(2, 12),
    edges=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(0, 1))),
    seed=st.integers(0, 1 << 30),
    form=st.sampled_from(sorted(FORMS)),
    searched=st.sampled_from([2, SEARCHED]),
    few=st.sampled_from([0, cycle_search.FEW_EDGES]),
)
def test_components_and_cycles_of_random_graphs_are_those_of_networkx(
    count: int, edges: list[tuple[int, int, int]], seed: int, form: str, searched: int, few: int
) -> None:
    of = sequential(random.Random(seed), count)
    made = np.array([e for e in edges if e[0] != e[1] and max(e) < count], dtype=np.int64)
    first, second, kind = made.reshape(-1, 3).T
    graph = Graph(of, first, second, kind)

    theirs = nx.DiGraph()
    theirs.add_nodes_from(range(count))
    kinds = [number for number, name in KIND_OF.items() if name in FORMS[form]]
    records = [(int(a), int(b)) for a, b, k in made.reshape(-1, 3) if k in kinds]
    theirs.add_edges_from(records)
    for a in np.flatnonzero(of.ok).tolist():
        for b in range(count):
            in_process = "process" in FORMS[form] and of.process[a] == of.process[b] and a < b
            in_time = "realtime" in FORMS[form] and of.completed_ns[a] < of.invoked_ns[b]
            if in_process or in_time:
                theirs.add_edge(a, b)
    expected = []
    for part in nx.strongly_connected_components(theirs):
        inside_time_ranges = [edge for edge in records if set(edge) <= part]
        if inside_time_ranges:
            expected.append(tuple(sorted({op for edge in inside_time_ranges for op in edge})))
    with patch.object(cycle_search, "FEW_EDGES", few):
        found = graph.components(form)
    assert [tuple(one.members.tolist()) for one in found] == sorted(expected)
    with patch.object(cycle_search, "SEARCHED", searched):
        for one in found:
            ring = graph.cycle(form, one).tolist()
            assert nx.is_path(theirs, [*ring, ring[0]])
            lengths = [
                1 + nx.shortest_path_length(theirs.subgraph(one.members.tolist()), after, start)
                for start in one.members.tolist()[: 1 if len(one.members) > searched else None]
                for after in theirs.successors(start)
                if after in one.members
            ]
            assert len(ring) == min(lengths)
