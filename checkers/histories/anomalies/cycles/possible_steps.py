"""Counts the wr dependencies that can be in a cycle of the form G1c or G1c-process.

    p1 txn k=a -> ok @0          op 0
    p2 txn j=b -> ok @0 k=a@0    op 1     wr  op 0 -> op 1
    p1 poll    -> ok j=b@0       op 2     wr  op 1 -> op 2

    op 0   sends only, and no earlier operation of p1 polls: nothing leads to it
    op 1   polls and sends: it can be in a cycle
    op 2   polls only, and no later operation of p1 sends: nothing leads on from it

In the form G1c-process, a cycle may also enter a process by a poll of an earlier operation, and
leave the process by a send of a later operation.

Source: `properties.anomalies.cycles.dependencies`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.bitset import WORDS, Bitset, packed
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Mask, any_in_run, codes, run_starts
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect, collect_all

_READS: Final = ("op", "process", "outcome", "kind")
_PROCESSES: Final = int64_schema("process", "first_poll", "last_send", "polls")
_NEVER: Final = 2**63 - 1  # above every operation
_NONE: Final = -1  # below every operation


@dataclass(frozen=True, slots=True)
class PossibleSteps:
    """The operations through which a cycle of dependencies can pass. In each process, a cycle
    enters at a poll (the end of one dependency) and leaves at a send (the beginning of the next
    one).

    - `both` has the operations that poll and send.
    - `before_send` has the operations that poll, if the same or a later operation of the process
      sends.
    - `after_poll` has the operations that send, if the same or an earlier operation of the process
      polls.
    """

    both: Bitset
    after_poll: Bitset
    before_send: Bitset
    ww_deps: bool  # True if a cycle can also enter an operation through a record that it sent

    def of(self, first: Ints, second: Ints) -> tuple[int, int]:
        """Returns two numbers: how many wr dependencies can be in a G1c cycle, and how many can be
        in a G1c-process cycle.

        Dependency i is from `first[i]` to `second[i]`: the operation `second[i]` polled a record
        that the operation `first[i]` sent.
        """
        one, other = self.both.has(second), self.before_send.has(second)
        if not self.ww_deps:
            one, other = one & self.both.has(first), other & self.after_poll.has(first)
        return int(np.count_nonzero(one)), int(np.count_nonzero(other))


def find_possible_steps(*, ww_deps: bool) -> Plan[PossibleSteps]:
    """Returns the operations that a cycle can enter by a poll, and leave by a send.

    With `ww_deps`, a cycle can also enter an operation by a send.
    """
    observed = Batch((yield from collect(_stage("polls and sends", _PROCESSES, _of_processes))))
    process, code = np.unique(observed.ints("process"), return_inverse=True)
    firsts, lasts = np.full(len(process), _NEVER), np.full(len(process), _NONE)
    np.minimum.at(firsts, code, observed.ints("first_poll"))
    np.maximum.at(lasts, code, observed.ints("last_send"))
    polls = np.zeros(len(process), dtype=np.bool_)
    polls[code[observed.ints("polls") > 0]] = True
    words = (WORDS.empty_table(),) * 3
    if np.any(polls & (lasts != _NONE)):
        # a process that only polls, or only sends, is in no cycle
        runs = (
            _both,
            partial(_after_poll, process, firsts),
            partial(_before_send, process, lasts),
        )
        words = yield from collect_all([_stage("ends of steps", WORDS, run) for run in runs])
    both, after_poll, before_send = map(Bitset.of, words)
    return PossibleSteps(both, after_poll, before_send, ww_deps)


def _stage(title: str, schema: pa.Schema, run: object) -> Stage[pa.Table]:
    return Stage(Source.OPERATIONS, Kernel(title, _READS, schema, run))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Operations:
    op: Ints
    process: Ints
    ok: Mask
    polls: Mask
    sends: Mask


def _operations(batch: Batch) -> _Operations:
    def made(batch: Batch) -> _Operations:
        starts = run_starts(batch.ints("op"))
        return _Operations(
            batch.ints("op").take(starts),
            batch.ints("process").take(starts),
            batch.is_in("outcome", "ok").take(starts),
            any_in_run(batch.is_in("kind", "poll"), starts),
            any_in_run(batch.is_in("kind", "send"), starts),
        )

    return batch.derived(("polls and sends",), made)


def _of_processes(batch: Batch) -> pa.Table:
    of = _operations(batch)
    code, count = codes(of.process)
    process = np.zeros(count, dtype=np.int64)
    process[code] = of.process
    polls, sends = np.flatnonzero(of.polls & of.ok)[::-1], np.flatnonzero(of.sends)
    first_poll, last_send = np.full(count, _NEVER), np.full(count, _NONE)
    first_poll[code[polls]] = of.op[polls]  # operations ascend, and the last assignment counts
    last_send[code[sends]] = of.op[sends]
    some = np.zeros(count, dtype=np.int64)
    some[code[of.polls]] = 1
    return table_from(_PROCESSES, process, first_poll, last_send, some)


def _both(batch: Batch) -> pa.Table:
    of = _operations(batch)
    return packed(of.op[of.polls & of.sends])


def _after_poll(process: Ints, first_poll: Ints, batch: Batch) -> pa.Table:
    of = _operations(batch)
    later = of.op > first_poll[np.searchsorted(process, of.process)]
    return packed(of.op[of.sends & (of.polls | later)])


def _before_send(process: Ints, last_send: Ints, batch: Batch) -> pa.Table:
    of = _operations(batch)
    earlier = of.ok & (of.op < last_send[np.searchsorted(process, of.process)])
    return packed(of.op[of.polls & (of.sends | earlier)])
