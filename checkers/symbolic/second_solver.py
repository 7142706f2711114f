"""Decides the conditions of a proof a second time, with the solver cvc5, from their SMT-LIB
scripts.

cvc5 shares no code with Z3, and it instantiates quantifiers in other ways. Each condition is tried
with these methods, until one method decides it:

- E-matching instantiates quantifiers with terms that match a trigger.
- Enumerative instantiation also tries all other terms, so it needs no trigger.
- Finite model finding searches for a model with few elements. It can also refute conditions.

The limit counts cvc5's own units of work (its option `rlimit-per`), so the load of the machine
changes no verdict. Wall time is also limited, as a last resort. One second of CPU time is 30,000 to
a million units.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal

from checkers.symbolic.limits import LIMIT_MS, Answer
from checkers.symbolic.smtlib import Script
from model.faults import InputFault

try:
    cvc5: Any = import_module("cvc5")  # an optional package without type annotations
except ModuleNotFoundError as missing:
    raise InputFault(
        "--cvc5: cvc5 is not installed\n  run: pip install 'urteil[cvc5]'"
    ) from missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A configuration of cvc5. `part` is the share of the remaining work that one query may use."""

    name: str
    options: Mapping[str, str]
    part: float


UNITS: Final = 1_000_000  # for one condition; queries that decide one needed at most 50,000
UNITS_USED: Final = "resource::resourceUnitsUsed"  # a statistic of cvc5
ENUMERATIVE: Final = {"full-saturate-quant": "true"}
OF_FINITE_MODELS: Final = {"finite-model-find": "true"}
METHODS: Final = (  # briefly first, because most conditions need only one of them
    Method(name="e-matching", options={}, part=0.05),
    Method(name="enumerative instantiation", options=ENUMERATIVE, part=0.05),
    Method(name="finite model finding", options=OF_FINITE_MODELS, part=0.1),
    Method(name="enumerative instantiation", options=ENUMERATIVE, part=0.5),
    Method(name="finite model finding", options=OF_FINITE_MODELS, part=1.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """cvc5's verdict on a condition of a proof, and how cvc5 reached it. `seconds` is the time
    in cvc5.
    """

    verdict: Literal["proved", "refuted", "unknown"]
    how: str
    seconds: float


def opinion(script: Script, *, units: int = UNITS, limit_ms: int = LIMIT_MS) -> Opinion:
    """Decides a condition with cvc5. The verdict is `unknown` if cvc5 reaches its limit of work
    or of wall time.
    """
    worked, spent, remarks = 0, 0.0, list[str]()
    for method, text, settles in _attempts(script):
        answer = check(
            text,
            method.options,
            units=int((units - worked) * method.part),
            limit_ms=int(limit_ms - spent * 1000),
        )
        worked, spent = worked + answer.units, spent + answer.seconds
        if answer.verdict in settles:
            verdict: Literal["proved", "refuted"] = (
                "proved" if answer.verdict == "unsat" else "refuted"
            )
            return Opinion(verdict=verdict, how=method.name, seconds=spent)
        remarks.append(f"{method.name}: {answer.reason or answer.verdict}")
    return Opinion(verdict="unknown", how="; ".join(remarks), seconds=spent)


def _attempts(script: Script) -> Iterator[tuple[Method, str, frozenset[str]]]:
    """Yields the ways to decide a condition with cvc5. Each has a method, a script, and the set of
    those answers (`unsat`, `sat`) that decide the condition.
    """
    proves = frozenset({"unsat"})
    decides = proves if script.lacks_claims else proves | {"sat"}
    for method in METHODS:
        if script.of_slice:
            yield method, script.of_slice, proves
        yield method, script.text, decides


def check(
    text: str, options: Mapping[str, str], *, units: int = UNITS, limit_ms: int = LIMIT_MS
) -> Answer:
    """Runs the script with cvc5 and returns the result. If the user presses Ctrl-C, it takes
    effect only after cvc5 has ended.
    """
    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    solver.setOption("rlimit-per", str(max(1, units)))  # for cvc5, 0 is no limit
    solver.setOption("tlimit-per", str(max(1, limit_ms)))
    for name, value in options.items():
        solver.setOption(name, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "condition")
    while (command := parser.nextCommand()).getCommandName() != "check-sat":
        command.invoke(solver, parser.getSymbolManager())
    started = time.perf_counter()
    result = solver.checkSat()
    seconds, worked = time.perf_counter() - started, solver.getStatistics()[UNITS_USED]["value"]
    verdict: Literal["sat", "unsat", "unknown"] = (
        "unsat" if result.isUnsat() else "sat" if result.isSat() else "unknown"
    )
    reason = result.getUnknownExplanation().name.lower() if verdict == "unknown" else ""
    return Answer(verdict=verdict, seconds=seconds, units=worked, reason=reason)
