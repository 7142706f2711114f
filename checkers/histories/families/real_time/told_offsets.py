"""What a piece of a history was told of its logs, and what that asks, as integers.

Every row that tells an offset, in an operation that ended ok, is a fact; sends and ends are
questions too. Facts of readers at `read_committed` are also facts of what is stable of the log.

Source: `properties.anomalies.real_time.reach`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.histories.columns.fingerprints import Ints, fingerprints
from checkers.histories.columns.order import begins, lengths
from checkers.histories.columns.staircase import Staircase, staircase
from checkers.histories.pieces.piece import UNKNOWN, Mask, Piece
from model.histories import Isolation

COLUMNS: Final = (
    "op",
    "outcome",
    "invoked_ns",
    "completed_ns",
    "position",
    "kind",
    "key",
    "offset",
    "isolation",
)
LOG, STABLE = 0, 1
KINDS: Final = ("send", "poll", "end_offset")
A_SEND, A_POLL, AN_END = range(3)

# who asks: a send, an end; an end at read_committed, of the log and of what is stable of it
SEND, END, COMMITTED_END, STABLE_END = range(4)
LOG_OF: Final = np.array([LOG, LOG, LOG, STABLE])


@dataclass(frozen=True, slots=True)
class Told:
    """The rows that tell an offset, in the order of the piece."""

    row: Ints
    kind: Ints  # the place in KINDS
    key: Ints  # from 0; `keys` are the fingerprints
    keys: Ints
    offset: Ints
    invoked_ns: Ints
    completed_ns: Ints
    committed: Mask  # by a poll or a read of the end at read_committed

    @property
    def end(self) -> Ints:
        """How far each shows that the log reached."""
        ends: Ints = self.offset + (self.kind != AN_END)
        return ends


@dataclass(frozen=True, slots=True)
class Facts:
    """By the operations of the piece, how far a log reached; in the order of the piece."""

    key: Ints
    end: Ints
    completed_ns: Ints
    of_told: Ints  # for each row that tells, the fact that it is part of; UNKNOWN of another log

    def staircase(self) -> Staircase:
        return staircase(self.key, self.end, self.completed_ns)


@dataclass(frozen=True, slots=True)
class Questions:
    """Which row asks what of which log."""

    told: Ints  # the place among what is told
    asks: Ints


def told(piece: Piece, isolation: Isolation) -> Told:
    """What the piece tells, where this level is declared; made once for all kernels."""
    return piece.derived(("told", isolation), lambda it: _told(it, isolation))


def _told(piece: Piece, isolation: Isolation) -> Told:
    numbers, names = piece.codes("kind")
    places: dict[str | None, int] = {name: place for place, name in enumerate(KINDS)}
    named: list[str | None] = [*names.to_pylist(), None]
    kind = np.array([places.get(name, len(KINDS)) for name in named])[numbers]
    answered = piece.is_("outcome", "ok") & piece.known("completed_ns") & piece.known("offset")
    row = np.flatnonzero(answered & (kind < len(KINDS)))
    codes, texts = piece.codes("key")
    return Told(
        row=row,
        kind=kind[row],
        key=codes[row],
        keys=fingerprints(texts, piece.salt),
        offset=piece.ints("offset", null=UNKNOWN)[row],
        invoked_ns=piece.ints("invoked_ns")[row],
        completed_ns=piece.ints("completed_ns")[row],
        committed=(kind[row] != A_SEND) & ~dirty(piece, isolation)[row],
    )


def dirty(piece: Piece, isolation: Isolation) -> Mask:
    """Where an operation reads at read_uncommitted, this level being declared."""
    said = piece.is_("isolation", "read_uncommitted")
    return said | ~piece.known("isolation") if isolation == "read_uncommitted" else said


def facts(of: Told, log: int) -> Facts:
    """The facts of a log; of neighbours of one key and one instant only the furthest."""
    key, end, completed_ns = of.key, of.end, of.completed_ns
    some = np.flatnonzero(of.committed) if log == STABLE else slice(None)
    if log == STABLE:
        key, end, completed_ns = key[some], end[some], completed_ns[some]
    starts = begins(key, completed_ns)
    if len(starts):
        end = np.maximum.reduceat(end, starts)
    of_told = np.full(len(of.row), UNKNOWN)
    of_told[some] = np.repeat(np.arange(len(starts)), lengths(starts, len(key)))
    return Facts(key[starts], end, completed_ns[starts], of_told)


def questions(of: Told) -> Questions:
    """What is asked. An end at read_committed asks twice: only one of its logs will count."""
    sends = np.flatnonzero(of.kind == A_SEND)
    ends = np.flatnonzero((of.kind == AN_END) & ~of.committed)
    committed = np.flatnonzero((of.kind == AN_END) & of.committed)
    some = (sends, ends, committed, committed)
    asks = np.repeat(np.arange(len(some)), [len(one) for one in some])
    return Questions(np.concatenate(some), asks)
