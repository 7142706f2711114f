"""A hash set of states still contains every inserted state after it grows in place."""

from __future__ import annotations

import ctypes
from importlib.resources import files

import pytest

from checkers.compiler import library
from checkers.explicit.compiled.engine import Search
from checkers.explicit.compiled.library import PREFIX_BITS, WRITTEN, Library
from checkers.explicit.exploration import Task
from checkers.explicit.instance import Instance
from checkers.explicit.search import chosen
from model.replication.versions import Kip101

SWEPT_SOON = 18  # bits of hash that order buckets: a set is swept from 8,700 states on
ALL = 60_106, 195_532  # states and transitions, as NumPy counts them
GROWING = """
#include "runtime.c"

/* Returns true if the last bucket is the home of the last prefix, in a part of the largest size. */
int last_home_is_last(uint64_t threads) {
  Set set = {.prefix = first_prefix(threads)};
  uint64_t largest = UINT32_MAX / threads;
  for (uint64_t states = 1;; states += states / 32 + 1) {
    if (states > largest) states = largest;
    if (is_full(&set, states)) {
      Growth next = growth_of(&set, states);
      set.size = next.size, set.prefix = next.prefix;
    }
    if (states == largest) break;
  }
  set.size = growth_of(&set, largest).size;
  return home_of(&set, ((uint64_t)1 << set.prefix) - 1) == set.size - 1;
}
"""


@pytest.mark.parametrize("fingerprints", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_inserted_states_are_found_after_every_sweep(*, fingerprints: bool, threads: int) -> None:
    spec = Kip101()
    claims = chosen(spec, ["weak_isr"])
    task = Task(spec=spec, claims=claims, fingerprints=fingerprints, threads=threads)
    swept, rebuilt = (Search(task, prefix_bits=bits).run() for bits in (SWEPT_SOON, PREFIX_BITS))
    assert (swept.distinct, swept.generated) == (rebuilt.distinct, rebuilt.generated) == ALL


@pytest.mark.parametrize("flags", [[], ["-DFINGERPRINTS"]])
def test_no_part_of_the_hash_set_has_a_prefix_too_wide_for_its_buckets(flags: list[str]) -> None:
    source = Library(Instance.of(Kip101())).source
    folder = files("checkers.explicit.compiled")
    texts = {
        **{name: folder.joinpath(name).read_text() for name in WRITTEN},
        "sizes.h": source.sizes,
        "spec.h": source.spec,
        "growing.c": GROWING,
    }
    c = library(texts, "growing.c", flags)
    c.last_home_is_last.argtypes = [ctypes.c_uint64]
    assert all(c.last_home_is_last(threads) for threads in range(1, 17))
