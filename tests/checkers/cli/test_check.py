"""`urteil check`: the events, verdicts and errors of the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkers.explicit.exploration import Budget

PUBLISHED = (
    *("--set", "replicas=3", "--set", "log_size=2", "--set", "max_records=2"),
    *("--set", "max_leader_epoch=1", "--set", "as_published=true"),
)


def test_published_kip_101_has_the_state_counts_of_tlc(call: Any) -> None:
    output = call(
        "check", "replication", "--variant", "kip-101", *PUBLISHED, "--property", "weak_isr"
    )
    (decided,) = output.named("property_decided")
    assert output.exit_code == 0
    assert decided.pop("seconds") > 0
    assert decided == {
        "v": 2,
        "event": "property_decided",
        "property": "weak_isr",
        "statement": (
            "If a replica believes that it leads, each member of its ISR has every record below its"
            " high watermark."
        ),
        "verdict": "holds",
        "expected": None,
        "engine": "explicit",
        "spec": "replication",
        "variant": "kip-101",
        "in_force": "from Kafka 0.11 to 1.1",
        "constants": {
            "replicas": 3,
            "log_size": 2,
            "max_records": 2,
            "max_leader_epoch": 1,
            "as_published": True,
        },
        "distinct_states": 59_788,
        "generated_states": 187_996,
        "depth": 22,
        "trace_length": None,
        "reason": None,
        "system": None,
        "fingerprints": {},
        "known": {},
        "expired": {},
    }
    assert output.events[-1].items() >= {"v": 2, "event": "run_finished", "exit_code": 0}.items()


def test_truncation_to_the_high_watermark_fails_in_eight_steps_on_one_screen(
    call: Any, tmp_path: Path
) -> None:
    output = call(
        "check", "replication", "--variant", "truncate-to-hw", "--property", "weak_isr",
        "--set", "replicas=2", "--set", "max_leader_epoch=2",
    )  # fmt: skip
    (decided,) = output.named("property_decided")
    assert output.exit_code == 1
    assert (decided["verdict"], decided["expected"]) == ("violated", "violated")
    assert decided["trace_length"] == 8
    (evidence,) = output.named("evidence")
    assert "weak_isr" in evidence["text"].splitlines()[0]
    assert len(evidence["text"].splitlines()) < 40
    (folder,) = (tmp_path / "runs").glob("2*")
    assert (folder / evidence["file"]).read_text().startswith(evidence["text"].splitlines()[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["replicaton"], "no spec 'replicaton'; the nearest: replication"),
        (["replication", "--variant", "kip-100"], "'kip-100'; the nearest: kip-101"),
        (["replication", "--set", "replica=3"], "replica"),
        (["replication", "--set", "replicas"], "write NAME=VALUE"),
        (["replication", "--set", "replicas=many"], "write NAME=VALUE"),
        (["replication", "--set", "replicas=0"], "replicas"),
        (["replication", "--set", "as_published=7"], "as_published"),
        (["replication", "--property", "wek_isr"], "'wek_isr'; the nearest: weak_isr"),
        (["replication", "--budget", "1h"], "such as 60s or 200k-states"),
        (["replication", "--budget", "0s"], "write a positive budget"),
        (["replication", "--budget", "0k-states"], "write a positive budget"),
        (["replication", "--property", "wek*"], "replication fetch-divergence has no property 'we"),
        (["missing.py"], "no file missing.py"),
    ],
)  # fmt: skip
def test_a_wrong_argument_ends_with_one_line_and_exit_code_2(
    call: Any, words: list[str], message: str
) -> None:
    output = call("check", *words)
    assert output.exit_code == 2
    assert message in output.stderr
    assert output.stderr.count("\n") == 1
    assert output.events[-1]["exit_code"] == 2


def test_a_spent_budget_is_undecided_and_exit_3(call: Any) -> None:
    output = call("check", "replication", "--budget", "1k-states", "--property", "weak_isr")
    (decided,) = output.named("property_decided")
    assert output.exit_code == 3
    assert (decided["verdict"], decided["reason"]) == ("undecided", "the budget of states is spent")


def test_the_default_limit_is_printed_with_the_option_that_raises_it(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Budget.__init__.__kwdefaults__ or {}, "states", 1_000)
    output = call("check", "replication", "--property", "weak_isr")
    assert output.exit_code == 3
    assert "states; explore more with --budget 100M-states" in output.stderr
    assert "Default: 10M-states." in " ".join(call("check", "--help").stdout.split())


BROKER = '''
from model.language import Bool, Set, Sort, Spec, action, forall, invariant, when

class Broker(Sort):
    """A broker."""

class Registration(Spec):
    """A broker registers."""

    registered: Set[Broker]
    brokers: int = 2

    def scope(s):
        return {Broker: s.brokers}

    @action
    def register(s, b: Broker) -> None:
        """It registers."""
        when(~s.registered[b])
        s.registered[b] = True

    @invariant
    def nobody_is_registered(s) -> Bool:
        """False after a step."""
        return forall(~s.registered[b] for b in Broker)
'''


def test_a_spec_of_the_user_in_another_folder_is_checked_like_a_built_in_one(
    call: Any, tmp_path: Path
) -> None:
    (tmp_path / "specs").mkdir()
    spec = tmp_path / "specs" / "registration.py"
    spec.write_text(BROKER)
    output = call("check", str(spec))
    assert output.exit_code == 1
    (evidence,) = output.named("evidence")
    (folder,) = (tmp_path / "runs").glob("2*")
    assert "nobody_is_registered" in (folder / evidence["file"]).read_text()


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("def register(", "def register", ":17: SyntaxError"),
        ("from model.language", "from model.lnguage", ":2: ModuleNotFoundError"),
        (
            "when(~s.registered[b])",
            "if s.registered[b]: return",
            ":19: Registration.register: a term has no truth value",
        ),
        ("when(~s.registered[b])", "when(registered)", ":19: NameError"),
        (
            "when(~s.registered[b])",
            "when(s.registred[b])",
            ":19: Registration.register: Registration has no",
        ),
        (
            "{Broker: s.brokers}",
            "{Broker: s.broker}",
            ":14: Registration.scope: Registration has no variable",
        ),
        ("(Spec)", "", "registration.py defines no spec"),
    ],
)
@pytest.mark.parametrize("command", ["check", "prove"])
def test_a_mistake_in_a_spec_of_the_user_is_reported_at_its_line(
    call: Any, tmp_path: Path, command: str, right: str, wrong: str, message: str
) -> None:
    spec = tmp_path / "registration.py"
    spec.write_text(BROKER.replace(right, wrong))
    output = call(command, str(spec))
    assert output.exit_code == 2
    assert message in output.stderr
    assert output.stderr.startswith(f"urteil {command}: {spec}")
    assert output.stderr.count("\n") == 1
