"""The compiled engine stores in one byte how to find the parent of each state.

The parent of a state is the state from which the search reached it. From any state, the parents
lead back to an initial state.
"""

from __future__ import annotations

import pytest

from checkers.explicit.compiled.engine import Search
from checkers.explicit.exploration import Progress, Task
from checkers.explicit.search import chosen
from model.replication.versions import Kip101

ENOUGH = 2000  # states


@pytest.mark.parametrize("fingerprints", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 16])
def test_the_interpreter_can_take_the_path_to_any_state(
    *, fingerprints: bool, threads: int
) -> None:
    spec = Kip101(replicas=2, max_leader_epoch=2)
    lengths: list[int] = []

    def look(at: Progress) -> None:
        for number in range(0, at.distinct if at.distinct > ENOUGH else 0, 97):
            trace = search._trace(number)
            assert trace[0].action == "init"
            assert len(trace) <= at.depth + 1
            lengths.append(len(trace))

    task = Task(
        spec=spec,
        claims=chosen(spec, ()),
        fingerprints=fingerprints,
        threads=threads,
        progress=look,
    )
    search = Search(task)
    search.run()
    assert max(lengths) > 10
