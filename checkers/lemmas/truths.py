"""Computes in which states the atoms of a context are true, for many states at once, as bitsets.

A *context* is a choice of quantified variables, and of atoms about them. A *row* is a state,
together with a value for each variable of the context. If every atom has the same truth value in
several rows, only one of these rows is stored. Each literal (an atom or the negation of an atom)
has a bitset: the rows in which the literal is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from checkers.explicit.columns import Code, Columns
from checkers.explicit.instance import Instance
from checkers.explicit.tables import Table
from checkers.lemmas.contexts import Context
from checkers.lemmas.reachable import States

Bits = np.ndarray[Any, Any]  # of uint64: a row of bits for each literal, and one of ones
BATCH: Final = 4096  # states


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """The atoms of a context, compiled for many states at once. A context has quantified variables,
    such as a replica, and atoms, which are formulas about these variables.

    Each choice of elements for the variables, such as replica 0, has one list in `codes`. A list
    has one operation on columns of states for each atom.
    """

    context: Context
    columns: Columns
    codes: Sequence[Sequence[Code]]

    @classmethod
    def of(cls, context: Context, at: Instance) -> Truths:
        columns = Columns(at)
        codes = [
            [columns.value(atom.node, env)[0] for atom in context.atoms]
            for env in bindings(context, at)
        ]
        return cls(context, columns, codes)

    def false_in(self, states: States) -> Bits:
        """Returns a bitset for each literal: the rows in which the literal is false. A row is a
        state, together with a value for each variable of the context. The last bitset contains all
        rows.
        """
        width = len(self.context.atoms)
        found = [np.zeros((0, (width + 7) // 8), dtype=np.uint8)]
        for start in range(0, len(states), BATCH):
            table = Table(states[start : start + BATCH], self.columns.ops)
            for op in self.columns.ops:
                table.value(op)  # in this order, no operation waits for a long chain of others
            for codes in self.codes:
                truth = np.empty((table.size, width), dtype=np.bool_)
                for k, code in enumerate(codes):
                    truth[:, k] = bool(code) if isinstance(code, int) else table.value(code)
                found.append(_distinct(np.packbits(truth, axis=1)))
        return _bits(_distinct(np.concatenate(found)), width)


def bindings(context: Context, at: Instance) -> Iterator[dict[int, int]]:
    """Yields every choice of elements for the variables of the context. Two variables of one
    sort get different elements.
    """
    for values in product(*(range(at.size(x.sort)) for x in context.variables)):
        env = dict(zip((x.uid for x in context.variables), values, strict=True))
        if all(env[a.uid] != env[b.uid] for a, b in context.pairs):
            yield env


def _distinct(packed: States) -> States:
    if not len(packed):
        return packed
    whole = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1])))
    _, first = np.unique(whole, return_index=True)
    return packed[np.sort(first)]


def _bits(packed: States, width: int) -> Bits:
    truth = np.unpackbits(packed, axis=1, count=width).astype(np.bool_).T
    padded = np.zeros((2 * width + 1, -(-max(truth.shape[1], 1) // 64) * 64), dtype=np.bool_)
    padded[0:-1:2, : truth.shape[1]] = ~truth
    padded[1:-1:2, : truth.shape[1]] = truth
    padded[-1, : truth.shape[1]] = True
    return np.packbits(padded, axis=1).view(np.uint64)
