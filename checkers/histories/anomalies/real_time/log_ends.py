"""Collects the log ends that clients observed in the whole history.

The history is processed in batches of operations, and each batch contributes a summary:

    batch 0   c1 end_offset k -> ok @5      the log of k ends at 5 or higher
    batch 1   p1 send k=a     -> ok @3      below 5: contradicted by an earlier batch

An operation of batch 1 may begin before batch 0 ends. In this case, a log end of batch 0
contradicts the operation only if the log end was observed before the operation began. The summary
has the exact times of only the newest observations of a batch. If these observations are not enough
for a decision, a second pass over the history reads all rows of batch 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, Self

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.real_time.batch_summary import (
    CONTRADICTED,
    WITNESS,
    offsets_stage,
    witness,
)
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.prefix_max import PrefixMaxIndex, prefix_max_index
from checkers.histories.columnar.sorting import Mask, member, run_starts
from checkers.histories.facts.observed_offsets import (
    COMMITTED_END,
    LOG,
    LOG_OF,
    STABLE,
    STABLE_END,
    observed_offsets,
)
from checkers.histories.plan.batch import NEVER_NS, UNKNOWN_OFFSET, Batch
from checkers.histories.plan.stage import Plan, collect
from model.histories import Isolation

_FACTS: Final = int64_schema("suspect", "reach", "completed_ns", *WITNESS, "position")


@dataclass(frozen=True, slots=True)
class LogEnds:
    """The log ends that clients observed, in all batches of the history's operations.

    A check is an offset that an operation returned. A log end contradicts the check if the log end
    is above this offset, and was observed before the operation was invoked.
    """

    logs: Ints  # each log with an observation, as one number, ascending
    in_time: PrefixMaxIndex
    by_batch: PrefixMaxIndex  # in the time order of the batches
    rank: Ints  # the index of each batch in time order
    began_ns: Ints  # of each batch: its first observation
    ended_ns: Ints  # of each batch: its last observation
    in_order: bool  # True if batches do not overlap in time
    held_back: Ints  # the keys that transactions send to, ascending
    steps: Batch
    log: Ints  # of each step: the index of its log in `logs`

    @classmethod
    def of(cls, spans: Batch, steps: Batch, held_back: Ints) -> Self:
        """Returns the log ends that clients observed in all batches.

        `spans` has the times of the first and the last completion of each batch, and `steps` has
        the observed log ends. Both are tables of the batch summaries (`batch_summary`).

        `held_back` has the topic partitions to which transactions send. If an end offset of such a
        topic partition was read at `read_committed`, it is compared only with observations at
        `read_committed`.
        """
        began_ns, ended_ns = spans.ints("began_ns"), spans.ints("ended_ns")
        order = np.lexsort([ended_ns, began_ns])
        rank = np.empty(int(spans.ints("batch").max(initial=-1)) + 1, dtype=np.int64)
        rank[spans.ints("batch")[order]] = np.arange(len(order))
        began_in, ended_in = np.zeros((2, len(rank)), dtype=np.int64)
        began_in[spans.ints("batch")], ended_in[spans.ints("batch")] = began_ns, ended_ns
        some = order[began_ns[order] != NEVER_NS]
        logs, group = np.unique(
            hash_of_pair(steps.ints("key"), steps.ints("log")), return_inverse=True
        )
        reach = steps.ints("reach")
        return cls(
            logs=logs,
            in_time=prefix_max_index(group, reach, steps.ints("completed_ns")),
            by_batch=prefix_max_index(group, reach, rank[steps.ints("batch")]),
            rank=rank,
            began_ns=began_in,
            ended_ns=ended_in,
            in_order=bool(np.all(ended_ns[some][:-1] <= began_ns[some][1:])),
            held_back=held_back,
            steps=steps,
            log=group,
        )

    def applicable(self, checks: Batch) -> Mask:
        """Returns a mask: True for each check that is valid for its topic partition.

        An end offset that was read at `read_committed` has two checks. `STABLE_END` is valid if
        transactions send to the topic partition, and `COMMITTED_END` is valid if no transaction
        sends to the topic partition.
        """
        check, stable_apart = checks.ints("check"), member(checks.ints("key"), self.held_back)
        applies: Mask = np.where(stable_apart, check != COMMITTED_END, check != STABLE_END)
        return applies

    def may_be_contradicted(self, checks: Batch) -> Mask:
        """Returns a mask: False for each checked offset that certainly no log end contradicts.

        A value True is not certain, because the exact times of most observations are unknown.
        """
        group, some = self._log_of_each(checks)
        offset, invoked_ns = (checks.ints(name)[some] for name in ("offset", "invoked_ns"))
        is_contradicted = np.zeros(len(checks), dtype=np.bool_)
        # Most observations have the time of the first completion in their batch, although they were
        # made later.
        is_contradicted[some] = self.in_time.exceeded(group[some], offset, invoked_ns)
        return is_contradicted

    def contradicted(self, checks: Batch) -> Mask:
        """Returns a mask: True for each checked offset that a log end contradicts.

        A value False is always right, but a value True may be wrong. A value True is right if the
        batches do not overlap in time, and if the operation was invoked between the first and the
        last observation of its batch.
        """
        is_contradicted = self.may_be_contradicted(checks)
        batch = checks.ints("batch")
        if not self.in_order or not len(checks):
            return is_contradicted
        group, some = self._log_of_each(checks)
        known = checks.ints("reach").copy()  # the highest log end observed before in the batch
        at = self.by_batch.before(group[some], self.rank[batch[some]])
        some, at = some[at >= 0], at[at >= 0]
        known[some] = np.maximum(known[some], self.by_batch.reach(at))
        invoked_ns = checks.ints("invoked_ns")
        inside = (self.began_ns[batch] < invoked_ns) & (invoked_ns <= self.ended_ns[batch])
        decided: Mask = np.where(inside, known > checks.ints("offset"), is_contradicted)
        return decided

    def carried_limits(self, limits: Batch) -> pa.Table:
        """Returns the rows of `limits` whose offset is below a log end of an earlier batch.

        A row of `limits` has the lowest offset of a topic partition in a batch of operations. The
        result has an additional column `reach`, the highest log end of the topic partition in
        earlier batches.
        """
        group, some = self._log_of_each(limits)
        before = self.rank[limits.ints("batch")]
        if not self.in_order:
            # If batches overlap in time, every batch counts as earlier.
            before = np.full(len(before), len(self.rank))
        at = self.by_batch.before(group[some], before[some])
        some, at = some[at >= 0], at[at >= 0]
        reach = self.by_batch.reach(at)
        below = reach > limits.ints("offset")[some]
        return limits.where(some[below]).table.append_column("reach", pa.array(reach[below]))

    def contradicting_partitions(self, checks: Batch) -> frozenset[int]:
        """Returns the numbers of the partitions of the history whose rows may contradict a checked
        offset.

        A partition of the history is a range of operations, not a topic partition.
        """
        group, some = self._log_of_each(checks)
        least, latest = np.full((2, len(self.logs)), [[NEVER_NS], [UNKNOWN_OFFSET]])
        np.minimum.at(least, group[some], checks.ints("offset")[some])
        np.maximum.at(latest, group[some], checks.ints("invoked_ns")[some])
        beyond = self.steps.ints("reach") > least[self.log]
        may = beyond & (self.steps.ints("completed_ns") < latest[self.log])
        return partition_numbers(self.steps.ints("batch")[may])

    def with_earlier_observations(self, contradicted: Batch) -> Batch:
        """Returns the contradicted offsets, each with the highest log end that contradicts it in
        its own batch of operations or in an earlier batch.

        In the argument `contradicted`, each offset has the highest such log end in its own batch.
        The batches must not overlap in time.
        """
        group, some = self._log_of_each(contradicted)
        at = self.by_batch.before(group[some], self.rank[contradicted.ints("batch")[some]])
        some, at = some[at >= 0], at[at >= 0]
        further = self.by_batch.reach(at) >= contradicted.ints("reach")[some]
        some, step = some[further], self.by_batch.furthest(at[further])
        table = contradicted.table
        for name in ("reach", *WITNESS):
            column = contradicted.ints(name).copy()
            column[some] = self.steps.ints(name)[step]
            table = table.set_column(table.schema.get_field_index(name), name, pa.array(column))
        return Batch(table)

    def _log_of_each(self, checks: Batch) -> tuple[Ints, Ints]:
        log = hash_of_pair(checks.ints("key"), LOG_OF[checks.ints("check")])
        group = np.searchsorted(self.logs, log)
        return group, np.flatnonzero(member(log, self.logs))


@dataclass(frozen=True, slots=True)
class FirstObservations:
    """The time of the first observation of each log's end, over the whole history."""

    logs: Ints  # each observed log, as one number, ascending
    completed_ns: Ints

    @classmethod
    def of(cls, firsts: Batch) -> Self:
        logs, group = np.unique(
            hash_of_pair(firsts.ints("key"), firsts.ints("log")), return_inverse=True
        )
        completed_ns = np.full(len(logs), NEVER_NS)
        np.minimum.at(completed_ns, group, firsts.ints("completed_ns"))
        return cls(logs, completed_ns)

    def precede(self, checks: Batch) -> Mask:
        """Returns a mask: True for each check that an observation precedes. A client observed the
        end of the check's log before the check's operation began.
        """
        log = hash_of_pair(checks.ints("key"), LOG_OF[checks.ints("check")])
        observed: Mask = member(log, self.logs)
        observed[observed] = (
            self.completed_ns[np.searchsorted(self.logs, log[observed])]
            < checks.ints("invoked_ns")[observed]
        )
        return observed


def partition_numbers(batches: Ints) -> frozenset[int]:
    return frozenset(np.unique(batches).tolist())


# ---------------------------------------------------------------- the contradicting observations


def find_contradictions(
    checks: Batch, isolation: Isolation, contradicting_partitions: frozenset[int]
) -> Plan[pa.Table]:
    """Returns the checks that some log end contradicts. Each check has the highest log end that
    contradicts it.

    Only the partitions of the history with the numbers `contradicting_partitions` are searched.
    """
    if not contradicting_partitions:
        return CONTRADICTED.empty_table()
    run = partial(_witnesses, isolation, checks)
    known = _highest_witnesses(
        Batch(
            (
                yield from collect(
                    offsets_stage(
                        "contradicting observations", _FACTS, run, contradicting_partitions
                    )
                )
            )
        )
    )
    made = checks.where(known.ints("suspect")).table
    shown = known.table.select(["reach", *WITNESS])
    return pa.table([*made.columns, *shown.columns], schema=CONTRADICTED)


def _witnesses(isolation: Isolation, suspects: Batch, batch: Batch) -> pa.Table:
    """Returns, for each check in `suspects`, the highest of those log ends in the batch that
    contradict the check.

    If no log end in the batch contradicts a check, the result has no row for this check.
    """
    batch = _of_keys(batch, suspects.ints("key"))
    of = observed_offsets(batch, isolation)
    number_of = {key: number for number, key in enumerate(of.keys.tolist())}
    numbers = [number_of.get(key, -1) for key in suspects.ints("key").tolist()]
    key = np.array(numbers, dtype=np.int64)
    made: list[pa.Table] = [_FACTS.empty_table()]
    for log in (LOG, STABLE):
        some = np.flatnonzero((key >= 0) & (LOG_OF[suspects.ints("check")] == log))
        if not len(some):
            continue
        late = of.end > suspects.ints("offset")[some].min()
        late &= of.completed_ns < suspects.ints("invoked_ns")[some].max()
        row = np.flatnonzero(late & of.committed if log == STABLE else late)
        got = prefix_max_index(of.key[row], of.end[row], of.completed_ns[row])
        at = got.before(key[some], suspects.ints("invoked_ns")[some])
        some, at = some[at >= 0], at[at >= 0]
        fact = row[got.furthest(at)]
        breaks = of.end[fact] > suspects.ints("offset")[some]
        some, fact = some[breaks], fact[breaks]
        made.append(
            table_from(
                _FACTS,
                some,
                of.end[fact],
                of.completed_ns[fact],
                *witness(of, fact, batch),
                batch.ints("position")[of.row[fact]],
            )
        )
    return pa.concat_tables(made)


def _of_keys(batch: Batch, keys: Ints) -> Batch:
    codes, texts = batch.narrow_codes("key")
    wanted = np.r_[member(fingerprints(texts, batch.hash_seed), np.unique(keys)), False]
    rows: Mask = wanted[codes]
    return batch if rows.all() else batch.where(rows)


def _highest_witnesses(witnesses: Batch) -> Batch:
    columns = [witnesses.ints(name) for name in ("position", "known_op", "completed_ns")]
    order = np.lexsort([*columns, -witnesses.ints("reach"), witnesses.ints("suspect")])
    return witnesses.where(order[run_starts(witnesses.ints("suspect")[order])])
