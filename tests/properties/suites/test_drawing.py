"""A seed determines which rules of a suite's state machine are called, and in which order."""

from __future__ import annotations

from random import Random

import pytest

from properties.suites.elections.rules import ElectionsMachine
from properties.suites.log.rules import LogMachine
from properties.suites.machines.driven import Power
from properties.suites.registry import SUITES
from properties.suites.search.drawing import drawn, needs, undrawn
from properties.suites.transactions.rules import TransactionsMachine


def test_the_seed_and_the_machine_determine_the_calls() -> None:
    def calls() -> list[str]:
        machine, coins = LogMachine("several"), Random(5)
        found: list[str] = []
        for _ in range(8):
            call = drawn(machine, coins, {*Power} - {Power.PAUSE, Power.ADMINISTER})
            assert call is not None
            call.run(machine)
            found.append(str(call))
        return found

    assert calls() == calls()


def test_no_rule_is_drawn_whose_power_is_lacking_or_whose_precondition_is_false() -> None:
    machine, coins = LogMachine("several"), Random(1)
    found = {call.rule for _ in range(300) if (call := drawn(machine, coins, set()))}
    assert not found.intersection(undrawn(LogMachine, set()))
    assert "delete_records" not in found  # only in the setting `deletion`
    assert {"send", "read_from", "pass_time"} <= found


def test_a_rule_of_trials_is_drawn_if_its_condition_is_true_and_never_by_the_simulation() -> None:
    def found(setting: str) -> set[str]:
        machine, coins = TransactionsMachine(setting), Random(2)
        powers = {Power.PAUSE, Power.ADMINISTER}
        return {call.rule for _ in range(400) if (call := drawn(machine, coins, powers))}

    rules = {*TransactionsMachine.TRIAL_RULES}
    assert rules == {"pause_leader", "move_leader", "elect_preferred", "roll_segments"}
    assert rules <= found("V2")
    assert rules & found("read at the leader") == {"roll_segments"}
    assert "move_leader" not in ElectionsMachine.TRIAL_RULES
    simulated = {rule.function.__name__ for rule in TransactionsMachine("V2").rules}
    assert not simulated & TransactionsMachine.TRIAL_RULES.keys()


def test_the_simulation_refuses_a_rule_of_trials() -> None:
    machine = LogMachine("several")
    with pytest.raises(AssertionError, match="no broker of this cluster can be paused"):
        machine.pause_leader()
    for rule in (machine.move_leader, machine.elect_preferred, machine.roll_segments):
        with pytest.raises(AssertionError, match="no topic of this cluster can be changed"):
            rule()


def test_each_rule_that_needs_a_power_exists() -> None:
    for suite in SUITES.values():
        for rule in suite.machine.NEEDS:
            assert hasattr(suite.machine, rule), (suite.name, rule)


def test_the_powers_of_a_rule_are_those_of_the_table() -> None:
    machine = LogMachine("several")
    assert needs(machine, "isolate_leader") == {Power.CUT}
    assert needs(machine, "send") == set()
