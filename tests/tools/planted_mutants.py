"""A small module, and its mutants by line."""

from __future__ import annotations

from tools.mutants.mutations import Mutant, mutants_of

SOURCE = b'''
"""Never changed: 1 < 2."""

LIMIT: int = 3


def is_small(n: int) -> bool:
    while n < 0:
        n += LIMIT
    return n < LIMIT


def unused(n: int) -> int:
    return n + 1


DOUBLED = [(lambda n: n * 2)(LIMIT)]


def scaled(by: int):
    return lambda n: n * by + 0
'''


def at(line: int, operator: str) -> Mutant:
    (one,) = [
        it
        for it in mutants_of("model/small.py", SOURCE)
        if it.line == line and it.operator == operator
    ]
    return one
