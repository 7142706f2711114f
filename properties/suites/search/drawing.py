"""Draws the calls of a run one by one, from a seed, while the machine runs.

Hypothesis needs machines that behave the same in every run, but a machine on a cluster in real time
does not. So this module draws each call itself, among the rules that are possible at the moment.
These include the rules in `TRIAL_RULES`: faults that a cluster can have, but the simulation cannot.
"""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from properties.suites.machines.driven import Power
from properties.suites.machines.judged import JudgedMachine
from properties.suites.search.programs import Call


def drawn(machine: JudgedMachine, coins: Random, powers: Collection[Power]) -> Call | None:
    """Returns a random call of a rule that is possible now; None if no rule is possible.

    A rule is possible if its preconditions are true, and if `powers` has every ability that it
    needs.
    """
    possible = [
        (rule.function.__name__, tuple(rule.arguments_strategies))
        for rule in machine.rules
        if not needs(machine, rule.function.__name__).difference(powers)
        and all(condition(machine) for condition in rule.preconditions)
    ]
    possible += [
        (rule, ())
        for rule, condition in machine.TRIAL_RULES.items()
        if not needs(machine, rule).difference(powers) and condition(machine)
    ]
    if not possible:
        return None
    rule, names = coins.choice(possible)
    return Call(rule, tuple((name, coins.choice(machine.SIMPLER[name])) for name in names))


def undrawn(machine: type[JudgedMachine], powers: Collection[Power]) -> dict[str, Power]:
    """Returns the rules that need an ability outside `powers`, each with this ability."""
    return {rule: power for rule, power in machine.NEEDS.items() if power not in powers}


def needs(machine: JudgedMachine, rule: str) -> set[Power]:
    return {machine.NEEDS[rule]} if rule in machine.NEEDS else set()
