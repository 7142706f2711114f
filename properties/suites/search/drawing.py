"""Draws the calls of a run one after another, with a seeded random generator, while the machine
runs.

Hypothesis needs a state machine that behaves in the same way in every run, but a machine on a
cluster in real time does not. This module therefore draws each call among the rules that are
possible at the moment. Among them are the rules in `TRIAL_RULES`. They apply faults that a cluster
in real time can have, but the simulation cannot.
"""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from properties.suites.machines.driven import Power
from properties.suites.machines.judged import JudgedMachine
from properties.suites.search.programs import Call


def drawn(machine: JudgedMachine, coins: Random, powers: Collection[Power]) -> Call | None:
    """Returns a random call of a rule that is possible now, or None if no rule is possible.

    A rule is possible if its preconditions are true, and `powers` contains every ability that the
    rule needs.
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
    """Maps each rule that the cluster cannot carry out to the missing ability, which is not in
    `powers`.
    """
    return {rule: power for rule, power in machine.NEEDS.items() if power not in powers}


def needs(machine: JudgedMachine, rule: str) -> set[Power]:
    return {machine.NEEDS[rule]} if rule in machine.NEEDS else set()
