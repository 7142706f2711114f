"""Inquiry into pipelines: inputs that two steps consumed, and inputs that none did.

What steps consumed, what groups were given and where records lie is a bit each, known everywhere.
Of how far a group committed only stretches are kept: as far as all first steps beyond an offset
had ended before anybody of the group began a step that tells nothing of what it polled.

Source: `properties.anomalies.groups.pipelines`, `input_processed_twice`, `input_skipped`.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories import occupied
from checkers.histories.bitmaps import WORDS, Bitmaps, count, offsets, words
from checkers.histories.fingerprints import Ints
from checkers.histories.found import Family, Found, Known
from checkers.histories.group_offsets import FAIL, LONG_AGO, commits
from checkers.histories.inquiry import OPERATIONS, PLACES, Ask, Inquiry, beside, spelled
from checkers.histories.order import begins, member
from checkers.histories.piece import NEVER_NS, Mask, Piece
from checkers.histories.pieces import Kernel
from checkers.histories.places import NAMES, pairs_in, shows, together
from checkers.histories.reach_survey import columns_of, ints
from checkers.histories.rows import schema_of
from properties.anomalies.groups import input_processed_twice, input_skipped
from properties.anomalies.groups.offsets import NONE

TWICE: Final = input_processed_twice.ANOMALY.id
SKIPPED: Final = input_skipped.ANOMALY.id
_COLUMNS: Final = (
    "op",
    "f",
    "outcome",
    "invoked_ns",
    "completed_ns",
    "kind",
    "key",
    "offset",
    "group",
)
_AT: Final = ints("group", "key", "low", "jumped", "steps")
_UNTOLD: Final = ints("group", "invoked_ns")
_CONSUMED: Final = ints("group", "key", "offset", "op", "invoked_ns", "completed_ns")
_COMBINED: Final = ints("pair", "offset")
_FAR: Final = ints("group", "key", "committed", "good")
_PASSED: Final = ints("asked", "op", "committed")
_TRIED: Final = ints("asked", "op", "failed")
_SHOWN: Final = ints("key", "offset", "value", "op")


# ---------------------------------------------------------------- in a piece


def _polls(piece: Piece, rows: Mask) -> Ints:
    """The rows that members of a group polled at a known offset."""
    polled = piece.is_("kind", "poll") & piece.known("offset") & piece.known("group")
    return np.flatnonzero(polled & rows)


def _given(piece: Piece) -> pa.Table:
    """What groups were given by operations that did not fail."""
    rows = _polls(piece, ~piece.is_("outcome", "fail"))
    group, key = piece.fingerprints("group")[rows], piece.fingerprints("key")[rows]
    return words(group, key, piece.ints("offset")[rows], piece.number)


def _steps(piece: Piece) -> Piece:
    """The highest offset that each committed step committed of each key."""
    return piece.derived(("steps",), _made_steps)


def _made_steps(piece: Piece) -> Piece:
    rows = np.flatnonzero(
        piece.is_("kind", "commit_offset")
        & piece.known("group")
        & piece.is_("f", "txn")
        & piece.is_("outcome", "ok")
    )
    op, offset = piece.ints("op")[rows], piece.ints("offset")[rows]
    key = piece.fingerprints("key")[rows]
    order = np.lexsort([-offset, key, op])
    first = order[begins(op[order], key[order])]
    columns = {
        "op": op[first],
        "key": key[first],
        "committed": offset[first],
        "group": piece.fingerprints("group")[rows[first]],
        "completed_ns": piece.ints("completed_ns", null=NEVER_NS)[rows[first]],
    }
    return Piece(pa.table(columns))


def _inputs(piece: Piece) -> Ints:
    """The rows that are input of a committed step: polled, and below what it committed."""
    return piece.derived(("inputs",), _made_inputs)


def _made_inputs(piece: Piece) -> Ints:
    rows, steps = _polls(piece, piece.is_("f", "txn") & piece.is_("outcome", "ok")), _steps(piece)
    of_step = together(steps.ints("op"), steps.ints("key"))
    asked = together(piece.ints("op")[rows], piece.fingerprints("key")[rows])
    some = member(asked, np.sort(of_step))
    rows, asked = rows[some], asked[some]
    by_step = np.argsort(of_step)
    at = by_step[np.searchsorted(of_step, asked, sorter=by_step)]
    return rows[piece.ints("offset")[rows] < steps.ints("committed")[at]]


def _consumed_words(piece: Piece) -> pa.Table:
    rows = _inputs(piece)
    group, key = piece.fingerprints("group")[rows], piece.fingerprints("key")[rows]
    return words(group, key, piece.ints("offset")[rows], piece.number)


def _at(piece: Piece) -> pa.Table:
    """Of each register the lowest offset that a group was at, and how far it jumped."""
    group, key = piece.fingerprints("group"), piece.fingerprints("key")
    offset = piece.ints("offset", null=NONE)
    commit = piece.is_("kind", "commit_offset") & piece.known("group")
    fetch = piece.is_("kind", "fetch_offset") & piece.known("group") & piece.is_("outcome", "ok")
    fetch &= piece.known("completed_ns") & (offset != NONE)
    jump = commit & ~piece.is_("f", "txn") & ~piece.is_("outcome", "fail")
    step = commit & piece.is_("f", "txn") & piece.is_("outcome", "ok")
    rows = np.r_[_polls(piece, np.ones(len(piece), dtype=np.bool_)), np.flatnonzero(commit | fetch)]
    jumps = np.where(jump[rows], offset[rows], LONG_AGO)
    low = np.where(offset[rows] != NONE, offset[rows], NEVER_NS)
    told = columns_of(_AT, group[rows], key[rows], low, jumps, step[rows].astype(np.int64))
    return _joined(told)


def _joined(told: pa.Table) -> pa.Table:
    made = told.group_by(["group", "key"]).aggregate(
        [("low", "min"), ("jumped", "max"), ("steps", "sum")]
    )
    return made.rename_columns(_AT.names)


def _untold(piece: Piece) -> pa.Table:
    """Of each group when the first step began that ended nobody knows how, and tells no poll."""
    op = piece.ints("op")
    starts = begins(op)
    if not len(starts):
        return _UNTOLD.empty_table()
    polls = np.add.reduceat(piece.is_("kind", "poll").astype(np.int64), starts)
    some = piece.is_("f", "txn") & piece.is_("outcome", "info") & piece.known("group")
    rows = starts[some[starts] & (polls == 0)]
    made = columns_of(_UNTOLD, piece.fingerprints("group")[rows], piece.ints("invoked_ns")[rows])
    return made.group_by("group").aggregate([("invoked_ns", "min")]).rename_columns(_UNTOLD.names)


def _far(groups: Ints, untold_ns: Ints, piece: Piece) -> pa.Table:
    """How far each register was committed: whenever that rose, and whether the step is good.

    A step is good if it had ended before anybody began one that tells nothing. Neighbours that
    are alike are one.
    """
    steps = _steps(piece)
    group, key, committed = (steps.ints(name) for name in ("group", "key", "committed"))
    order = np.lexsort([steps.ints("op"), key, group])
    group, key, committed = group[order], key[order], committed[order]
    limit = np.full(len(order), NEVER_NS)
    known = member(group, groups)
    limit[known] = untold_ns[np.searchsorted(groups, group[known])]
    good = steps.ints("completed_ns")[order] < limit
    rises: list[int] = []
    starts = begins(group, key).tolist()
    for start, end in pairwise([*starts, len(order)]):
        reached = np.maximum.accumulate(committed[start:end])
        up = start + np.flatnonzero(np.diff(reached, prepend=reached[0] - 1) > 0)
        last = np.flatnonzero(np.diff(good[up].astype(np.int8), append=2) != 0)
        rises.extend(up[last].tolist())
    at = np.array(rises, dtype=np.int64)
    return columns_of(_FAR, group[at], key[at], committed[at], good[at].astype(np.int64))


# ---------------------------------------------------------------- the inquiry


def pipelines(known: Known) -> Inquiry[tuple[Found, ...]]:
    """What pipelines consumed twice, and what they skipped."""
    says = "what groups consumed"
    at, consumed, untold = yield (
        Ask(OPERATIONS, Kernel(says, _COLUMNS, _AT, _at)),
        Ask(OPERATIONS, Kernel(says, _COLUMNS, WORDS, _consumed_words)),
        Ask(OPERATIONS, Kernel(says, _COLUMNS, _UNTOLD, _untold)),
    )
    registers = Piece(_joined(at))
    registers = registers.where(registers.ints("steps") > 0)
    inputs = Bitmaps.of(consumed)
    found: tuple[Found, ...] = yield from beside(
        _twice(inputs), _skipped(known, registers, _earliest(untold))
    )
    return found


def _earliest(untold: pa.Table) -> Piece:
    made = untold.group_by("group").aggregate([("invoked_ns", "min")]).sort_by("group")
    return Piece(made.rename_columns(_UNTOLD.names))


# ---------------------------------------------------------------- twice


def _twice(inputs: Bitmaps) -> Inquiry[Found]:
    """Inputs and pairs of steps that follow each other, unless a commit moved the group back."""
    schema = schema_of(input_processed_twice.InputProcessedTwice)
    several = inputs.where(inputs.again != 0)
    if not len(several):
        return Found(id=TWICE, rows=schema.empty_table(), observations=count(inputs.bits))
    run = partial(_consumers, Bitmaps(*_fields(several)))
    told = yield Ask(OPERATIONS, Kernel("who consumed it", _COLUMNS, _CONSUMED, run))
    rows = Piece(told.group_by(_CONSUMED.names).aggregate([]))
    group, key, offset, op = (rows.ints(name) for name in ("group", "key", "offset", "op"))
    order = np.lexsort([op, offset, key, group])
    same = np.ones(max(0, len(order) - 1), dtype=np.bool_)
    for column in (group, key, offset):
        same &= column[order][1:] == column[order][:-1]
    first, second = order[:-1][same], order[1:][same]
    columns = np.stack([group[first], key[first], op[first], op[second]], axis=1)
    pairs, of_pair = np.unique(columns, axis=0, return_inverse=True)
    began, ended = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    began[of_pair.ravel()] = rows.ints("invoked_ns")[first]
    ended[of_pair.ravel()] = rows.ints("completed_ns")[second]
    rewind = partial(_rewinds, pairs, began, ended)
    back = yield Ask(OPERATIONS, Kernel("who moved it back", _COLUMNS, _COMBINED, rewind))
    lowest = np.full(len(pairs), NEVER_NS)
    np.minimum.at(lowest, Piece(back).ints("pair"), Piece(back).ints("offset"))
    wrong = lowest[of_pair.ravel()] > offset[first]
    first, second = first[wrong], second[wrong]
    group_of = yield from spelled(group[first], column="group")
    key_of = yield from spelled(key[first], column="key")
    found = pa.table(
        {
            "group": group_of(group[first]),
            "key": key_of(key[first]),
            "offset": offset[first],
            "first_op": op[first],
            "second_op": op[second],
        }
    ).cast(schema)
    return Found(id=TWICE, rows=found, observations=count(inputs.bits))


def _fields(several: Bitmaps) -> tuple[Any, ...]:
    """Their words with only the bits that are there again."""
    return (
        several.owner,
        several.key,
        several.word,
        several.again,
        several.again,
        several.repeated_in,
    )


def _consumers(several: Bitmaps, piece: Piece) -> pa.Table:
    rows = _inputs(piece)
    group, key = piece.fingerprints("group")[rows], piece.fingerprints("key")[rows]
    offset = piece.ints("offset")[rows]
    some = several.has(group, key, offset)
    rows = rows[some]
    return columns_of(
        _CONSUMED,
        group[some],
        key[some],
        offset[some],
        piece.ints("op")[rows],
        piece.ints("invoked_ns")[rows],
        piece.ints("completed_ns", null=NEVER_NS)[rows],
    )


def _rewinds(pairs: Ints, began_ns: Ints, ended_ns: Ints, piece: Piece) -> pa.Table:
    """For each pair of steps the lowest offset that another operation may have set in between."""
    of = commits(piece)
    of = of.where(of.ints("outcome") != FAIL)
    register = together(pairs[:, 0], pairs[:, 1])
    some = np.flatnonzero(member(register, np.unique(of.ints("register"))))
    order = np.argsort(of.ints("register"), kind="stable")
    registers = of.ints("register")[order]
    found: list[tuple[int, int]] = []
    for pair in some.tolist():
        first, last = np.searchsorted(registers, [register[pair], register[pair] + 1])
        rows = order[first:last]
        rows = rows[of.ints("ended_ns")[rows] >= began_ns[pair]]
        rows = rows[of.ints("invoked_ns")[rows] <= ended_ns[pair]]
        rows = rows[~np.isin(of.ints("op")[rows], pairs[pair, 2:])]
        if len(rows):
            found.append((pair, int(of.ints("offset")[rows].min())))
    columns = np.array(found, dtype=np.int64).reshape(-1, 2)
    return columns_of(_COMBINED, columns[:, 0], columns[:, 1])


# ---------------------------------------------------------------- skipped


def _skipped(known: Known, registers: Piece, untold: Piece) -> Inquiry[Found]:
    """Records that no operation of a group was given which committed past them."""
    if not len(registers):
        none = schema_of(input_skipped.InputSkipped).empty_table()
        return Found(id=SKIPPED, rows=none, observations=0)
    far = partial(_far, untold.ints("group"), untold.ints("invoked_ns"))
    says = "how far groups committed"
    rises, given, log = yield (
        Ask(OPERATIONS, Kernel(says, _COLUMNS, _FAR, far)),
        Ask(OPERATIONS, Kernel(says, _COLUMNS, WORDS, _given)),
        occupied.asked(known.strays.committed),
    )
    stretches = _stretches(Piece(rises), registers, known)
    group, key, low, high = (stretches[:, n] for n in range(4))
    clean = Piece(log.filter(log["clean"]))
    names = np.zeros(len(clean), dtype=np.int64)
    shown = Bitmaps.of(
        columns_of(
            WORDS, names, *(clean.ints(name) for name in ("key", "word", "bits")), names, names
        )
    )
    stretch, row, bits = shown.within(np.zeros(len(key), dtype=np.int64), key, low, high)
    had = Bitmaps.of(given)
    at = had.at(group[stretch], key[stretch], shown.word[row])
    missing = bits & ~np.r_[had.bits, np.uint64(0)][at]
    some = np.flatnonzero(missing)
    of_word, offset = offsets(shown.word[row[some]], missing[some])
    of = stretch[some[of_word]]
    rows = yield from _skips(known, group[of], key[of], offset)
    return Found(id=SKIPPED, rows=rows, observations=count(bits))


def _stretches(rises: Piece, registers: Piece, known: Known) -> Ints:
    """Of each register from where up to where everything must have been consumed."""
    begin: dict[tuple[int, int], int] = {}
    kept = known.kept.of(registers.ints("key"))
    names = ("group", "key", "low", "jumped")
    for *register, low, jumped, start in zip(
        *(registers.ints(name).tolist() for name in names), kept.tolist(), strict=True
    ):
        begin[register[0], register[1]] = max(low, jumped, start)
    reached: dict[tuple[int, int], int] = {}
    made: list[tuple[int, int, int, int]] = []
    for group, key, committed, good in zip(
        *(rises.ints(name).tolist() for name in _FAR.names), strict=True
    ):
        low = max(reached.get((group, key), LONG_AGO), begin[group, key])
        if good and low < committed:
            made.append((group, key, low, committed))
        reached[group, key] = max(committed, reached.get((group, key), LONG_AGO))
    return np.array(made, dtype=np.int64).reshape(-1, 4)


def _skips(known: Known, group: Ints, key: Ints, offset: Ints) -> Inquiry[pa.Table]:
    """The rows: who showed the record, who passed it, and who had tried."""
    schema = schema_of(input_skipped.InputSkipped)
    if not len(group):
        return schema.empty_table()
    shown = partial(_shown, known.strays.committed, key, offset)
    passed, tried, seen = yield (
        Ask(
            OPERATIONS,
            Kernel("who passed it", _COLUMNS, _PASSED, partial(_passing, group, key, offset)),
        ),
        Ask(
            OPERATIONS,
            Kernel("who tried", _COLUMNS, _TRIED, partial(_trying, group, key, offset)),
        ),
        Ask(PLACES, Kernel("what was skipped", NAMES, _SHOWN, shown)),
    )
    first: dict[int, tuple[int, int]] = {}
    for row in passed.to_pylist():
        step = row["op"], row["committed"]
        first[row["asked"]] = min(step, first.get(row["asked"], step))
    tries: defaultdict[int, set[int]] = defaultdict(set)
    for row in tried.to_pylist():
        tries[row["asked"]].add(row["op"])
    records = yield from _records(Piece(seen))
    group_of = yield from spelled(group, column="group")
    key_of = yield from spelled(key, column="key")
    places = list(zip(key.tolist(), offset.tolist(), strict=True))
    asked = range(len(places))
    return pa.table(
        {
            "group": group_of(group),
            "key": key_of(key),
            "offset": offset,
            "value": pa.array([records[place][1] for place in places], pa.string()),
            "known_op": pa.array([records[place][0] for place in places], pa.int64()),
            "committed_offset": pa.array([first[n][1] for n in asked], pa.int64()),
            "passed_op": pa.array([first[n][0] for n in asked], pa.int64()),
            "tried_by": pa.array([sorted(tries[n]) for n in asked], pa.list_(pa.int64())),
        }
    ).cast(schema)


def _passing(group: Ints, key: Ints, offset: Ints, piece: Piece) -> pa.Table:
    """For each skipped record the first step of the piece that committed a higher offset."""
    steps = _steps(piece)
    register = together(steps.ints("group"), steps.ints("key"))
    asked = together(group, key)
    found: list[tuple[int, int, int]] = []
    for name in np.unique(asked[member(asked, np.unique(register))]).tolist():
        rows = np.flatnonzero(register == name)
        rows = rows[np.argsort(steps.ints("op")[rows])]
        reached = np.maximum.accumulate(steps.ints("committed")[rows])
        some = np.flatnonzero(asked == name)
        at = np.searchsorted(reached, offset[some], side="right")
        some, at = some[at < len(rows)], at[at < len(rows)]
        ops, committed = steps.ints("op")[rows[at]], steps.ints("committed")[rows[at]]
        found.extend(zip(some.tolist(), ops.tolist(), committed.tolist(), strict=True))
    columns = np.array(found, dtype=np.int64).reshape(-1, 3)
    return columns_of(_PASSED, *columns.T)


def _trying(group: Ints, key: Ints, offset: Ints, piece: Piece) -> pa.Table:
    """Who of the group was given a record that it skipped: only operations that failed."""
    rows = _polls(piece, piece.is_("outcome", "fail"))
    polled = together(
        together(piece.fingerprints("group")[rows], piece.fingerprints("key")[rows]),
        piece.ints("offset")[rows],
    )
    asked = together(together(group, key), offset)
    order = np.argsort(asked)
    some = member(polled, asked[order])
    at = order[np.searchsorted(asked[order], polled[some])]
    op = piece.ints("op")[rows[some]]
    return columns_of(_TRIED, at, op, np.ones(len(op), dtype=np.int64))


def _shown(committed: Ints, key: Ints, offset: Ints, piece: Piece) -> pa.Table:
    """Who showed what at these places, cleanly."""
    clean = shows(piece, committed) & (piece.ints("role") < 8)
    rows = np.flatnonzero(clean)
    rows = rows[pairs_in(piece.ints("key")[rows], piece.ints("offset")[rows], key, offset)]
    return columns_of(_SHOWN, *(piece.ints(name)[rows] for name in _SHOWN.names))


def _records(seen: Piece) -> Inquiry[dict[tuple[int, int], tuple[int, str]]]:
    """Of each place who showed it first, and the value; of several values the first as a text."""
    value_of = yield from spelled(seen.ints("value"))
    texts = value_of(seen.ints("value")).to_pylist()
    records: dict[tuple[int, int], tuple[int, str]] = {}
    for key, offset, op, text in zip(
        *(seen.ints(name).tolist() for name in ("key", "offset", "op")), texts, strict=True
    ):
        records[key, offset] = min((op, text), records.get((key, offset), (op, text)))
    return records


FAMILIES: Final = (Family(ids=(TWICE, SKIPPED), inquiry=pipelines),)
