"""The cache of proved conditions: each condition is proved once, and the proof is stored on disk.

The key of a condition is a hash of everything that decides the proof:

- the formulas as Z3 prints them in SMT-LIB;
- the names of the action and of the claims;
- the solver and its version, the seed, and the limits;
- the source code of this package.

Only proofs are stored. A refuted condition is decided a second time to get its counterexample. An
unknown condition is decided a second time because more time may decide it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

import z3

from checkers.symbolic.induction import Goal
from checkers.symbolic.limits import Effort, Expr, Solver, solver_version
from checkers.symbolic.portfolio import Outcome
from checkers.symbolic.sorts import Sorts

FRESH: Final = re.compile(r"!(\d+)")  # Z3 numbers fresh variables, and shared terms of a printout


class ConditionKeys:
    """Computes the cache keys of conditions. Equal conditions have equal keys on every machine."""

    def __init__(self, sorts: Sorts, effort: Effort) -> None:
        self.sorts = sorts
        self.settings = [solver_version(), repr(effort), sources()]
        self._hashes: dict[int, tuple[str, Expr]] = {}

    def key(self, name: str, goal: Goal) -> str:
        """Returns the cache key of a condition. `name` contains the action and the claim of the
        condition, and `goal` has its formulas.
        """
        content = [
            self.settings,
            name,
            [self._hash(axiom) for axiom in self.sorts.axioms],
            [
                [
                    facts.named,
                    facts.missing,
                    [claim.name for claim in facts.claims],
                    [self._hash(formula) for formula in facts.formulas],
                ]
                for facts in goal.facts
            ],
            self._hash(z3.Not(goal.formula)),
        ]
        return _sha256(json.dumps(content))

    def _hash(self, formula: Expr) -> str:
        number = formula.get_id()
        if number not in self._hashes:
            # The formula is kept too, so that no other formula gets its number.
            self._hashes[number] = _sha256(printed(formula, self.sorts)), formula
        return self._hashes[number][0]


@cache
def sources() -> str:
    """Returns a hash of the source code of this package. If the source code changes, the cache
    does not find the earlier proofs.
    """
    files = sorted(Path(__file__).parent.glob("*.py"))
    return _sha256("".join(file.read_text(encoding="utf-8") for file in files))


def printed(formula: Expr, sorts: Sorts) -> str:
    """Returns the formula in SMT-LIB, with the declarations of its sorts and functions.

    Z3 numbers bound variables in the order in which the process creates them. The result numbers
    them from 0, so that it is the same in every process.
    """
    solver = Solver(sorts.context)  # only prints
    solver.add([formula])
    declared = solver.declarations()
    assert "!" not in declared, f"a numbered name is not bound: {declared}"
    numbers: dict[str, int] = {}
    text = FRESH.sub(lambda it: f"!{numbers.setdefault(it[1], len(numbers))}", formula.sexpr())
    return " ".join(f"{declared} {text}".split())  # Z3 breaks lines by the length of the numbers


class ProofCache:
    """A folder with a file for each proved condition. Several processes may use the folder at
    the same time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fault = ""  # why answers are not kept; empty if they are

    def find(self, key: str) -> Outcome | None:
        """Returns the stored proof with this key. Returns None if there is no such proof, or if
        its file is damaged.
        """
        try:
            check, _, content = self._file(key).read_text(encoding="utf-8").partition("\n")
        except (OSError, UnicodeDecodeError):
            return None  # no entry, or no text
        if check != _sha256(key + content):
            return None
        entry = json.loads(content)
        assumed = frozenset(entry["assumed"])
        return Outcome(verdict="proved", how=entry["how"], assumed=assumed, from_cache=True)

    def keep(self, key: str, outcome: Outcome) -> None:
        """Stores the outcome if it is a proof.

        If the folder is not writable, `fault` is set to the reason, and no further proof is stored.
        """
        if outcome.verdict != "proved" or self.fault:
            return
        content = json.dumps({"how": outcome.how, "assumed": sorted(outcome.assumed)})
        file = self._file(key)
        partial = file.with_suffix(f".{os.getpid()}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # The file is renamed at the end, so no process reads an incomplete entry.
            partial.write_text(f"{_sha256(key + content)}\n{content}", encoding="utf-8")
            partial.replace(file)
        except OSError as fault:
            self.fault = str(fault)
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
