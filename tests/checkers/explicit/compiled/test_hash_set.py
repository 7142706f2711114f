"""A hash set of states still contains every inserted state after it grows in place."""

from __future__ import annotations

import pytest

from checkers.explicit.compiled.engine import Search
from checkers.explicit.compiled.library import PREFIX_BITS
from checkers.explicit.exploration import Task
from checkers.explicit.search import chosen
from model.replication.versions import Kip101

SWEPT_SOON = 18  # bits of hash that order buckets: a set is swept from 8,700 states on
ALL = 60_106, 195_532  # states and transitions, as NumPy counts them


@pytest.mark.parametrize("fingerprints", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_inserted_states_are_found_after_every_sweep(*, fingerprints: bool, threads: int) -> None:
    spec = Kip101()
    claims = chosen(spec, ["weak_isr"])
    task = Task(spec=spec, claims=claims, fingerprints=fingerprints, threads=threads)
    swept, rebuilt = (Search(task, prefix_bits=bits).run() for bits in (SWEPT_SOON, PREFIX_BITS))
    assert (swept.distinct, swept.generated) == (rebuilt.distinct, rebuilt.generated) == ALL
