"""`urteil prove` proves a property, or shows a violating execution, or leaves it undecided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkers.cli.prove import verdict_on
from checkers.explicit.search import explore
from checkers.symbolic import EnginesDisagree, prove
from model.transactions_abstract.versions import Transactions, Version1


def test_version_2_is_proved_without_bounds(call: Any) -> None:
    output = call("prove", "transactions-abstract")
    assert output.exit_code == 0
    assert output.verdicts() == {
        "atomic": "holds",
        "no_hanging_transaction": "holds",
        "faithful": "holds",
    }
    assert "transactions-abstract v2: from Kafka 4.2 to 4.3" in output.stderr
    assert {e["in_force"] for e in output.named("property_decided")} == {"from Kafka 4.2 to 4.3"}


def test_version_1_fails_at_append_and_at_marker_each_paired_with_a_real_run(call: Any) -> None:
    output = call("prove", "transactions-abstract", "--variant", "v1")
    assert output.exit_code == 1
    verdicts = output.verdicts()
    assert verdicts["no_hanging_transaction"] == verdicts["faithful"] == "violated"
    lengths = {e["property"]: e["trace_length"] for e in output.named("property_decided")}
    assert (lengths["no_hanging_transaction"], lengths["faithful"]) == (6, 9)
    shown = [e["text"] for e in output.named("evidence")]
    broken = [t.splitlines()[0] for t in shown if "does not preserve" in t]
    assert any("append does not preserve no_hanging_transaction" in line for line in broken)
    assert any("write_marker does not preserve faithful" in line for line in broken)
    assert {line.split()[1] for line in broken} == {"append", "write_marker"}
    assert any(t.startswith("a real run: ✗") for t in shown)


def test_a_run_is_searched_as_far_as_check_searches(call: Any, tmp_path: Path) -> None:
    """The counterexample, in which all 19 brokers are down, is the last of 2 ** 19 states. So only
    a search of all states finds it.
    """
    spec = tmp_path / "outage.py"
    spec.write_text(OUTAGE)
    output = call("prove", str(spec))
    assert output.exit_code == 1
    (decided,) = output.named("property_decided")
    assert (decided["verdict"], decided["trace_length"]) == ("violated", 19)
    assert figures(output)["search for a run"] == "524,288 states, every property was violated"


OUTAGE = """
from model.language import Bool, Set, Sort, Spec, action, exists, invariant, when

class Broker(Sort): ...

class Outage(Spec):
    down: Set[Broker]

    def scope(s):
        return {Broker: 19}

    @action
    def stop(s, b: Broker) -> None:
        when(~s.down[b])
        s.down[b] = True

    @invariant
    def a_broker_is_up(s) -> Bool:
        return exists(~s.down[b] for b in Broker)
"""


def test_a_bug_is_searched_at_the_constants_of_its_recorded_run(call: Any) -> None:
    spec = ("share-group-abstract", "--variant", "last-write-wins")
    words = ("prove", *spec, "--property", "acknowledgements_last")
    (decided,) = call(*words).named("property_decided")
    assert (decided["verdict"], decided["expected"]) == ("violated", "violated")
    output = call(*words, "--set", "writes=1")
    (decided,) = output.named("property_decided")
    assert (decided["verdict"], decided["expected"]) == ("undecided", None)
    assert str(figures(output)["search for a run"]).endswith("every reachable state was explored")


def test_claims_that_do_not_need_a_failed_one_are_proved_and_the_others_undecided(
    call: Any,
) -> None:
    output = call("prove", "read-committed-abstract", "--variant", "kafka-4.3")
    assert output.exit_code == 1
    assert output.verdicts() == {
        "only_committed_is_delivered": "holds",
        "nothing_committed_is_skipped": "holds",
        "stable_offset_stops_at_open": "holds",
        "stable_offset_never_goes_back": "violated",
    }
    reasons = {e["property"]: e["reason"] for e in output.named("property_decided")}
    assert reasons["only_committed_is_delivered"] == (
        "144 conditions, without bounds; not needed: "
        "memory_is_the_log, stable_offset_never_goes_back"
    )


def test_a_run_that_violates_a_proved_property_is_an_error_of_urteil() -> None:
    with pytest.raises(EnginesDisagree, match="faithful is proved, and a run violates it"):
        verdict_on("faithful", prove(Transactions()), explore(Version1()))


@pytest.mark.parametrize(
    ("spec", "move"),
    [
        ("idempotence", "; prove idempotence-abstract, or explore it: urteil check idempotence\n"),
        ("group-offsets", "; explore it: urteil check group-offsets\n"),
    ],
)
def test_a_spec_with_integers_is_refused_with_the_next_move(
    call: Any, spec: str, move: str
) -> None:
    output = call("prove", spec)
    assert output.exit_code == 2
    assert output.verdicts() == {}
    assert f"{spec} has integers (" in output.stderr
    assert output.stderr.endswith(f", which a proof cannot use{move}")


def test_a_reason_with_a_next_move_is_one_line(call: Any, tmp_path: Path) -> None:
    spec = tmp_path / "counter.py"
    spec.write_text(COUNTER)
    (decided,) = call("prove", str(spec)).named("property_decided")
    assert "a proof cannot use; write Offset(Ordered), and is_next" in decided["reason"]


COUNTER = """
from model.language import Bool, Int, Spec, action, invariant, when

class Offset(Int): ...

class Log(Spec):
    end: Offset

    def scope(s):
        return {Offset: range(3)}

    @action
    def append(s) -> None:
        when(s.end < 2)
        s.end = s.end + 1

    @invariant
    def small(s) -> Bool:
        return s.end <= 2
"""


NOT_INDUCTIVE = '''
from model.language import Bool, Set, Sort, Spec, action, forall, implies, invariant, when

class Broker(Sort):
    """A broker."""

class Registration(Spec):
    """A broker registers, then is unfenced."""

    registered: Set[Broker]
    unfenced: Set[Broker]
    leads: Set[Broker]

    def scope(s):
        return {Broker: 2}

    @action
    def register(s, b: Broker) -> None:
        """It registers."""
        s.registered[b] = True

    @action
    def unfence(s, b: Broker) -> None:
        """It is unfenced."""
        when(s.registered[b])
        s.unfenced[b] = True

    @action
    def lead(s, b: Broker) -> None:
        """It leads."""
        when(s.unfenced[b])
        s.leads[b] = True

    @invariant
    def leaders_are_registered(s) -> Bool:
        """True, and not by induction: that unfenced brokers are registered is missing."""
        return forall(implies(s.leads[b], s.registered[b]) for b in Broker)
'''


def test_a_true_property_that_is_not_inductive_is_undecided_with_a_state(
    call: Any, tmp_path: Path
) -> None:
    spec = tmp_path / "registration.py"
    spec.write_text(NOT_INDUCTIVE)
    output = call("prove", str(spec))
    assert output.exit_code == 3
    assert output.verdicts() == {"leaders_are_registered": "undecided"}
    (evidence,) = output.named("evidence")
    assert "lead does not preserve leaders_are_registered (refuted)" in evidence["text"]
    assert "not known to be reachable" in evidence["text"]
    assert "look at          write a lemma about leads, registered" in evidence["text"]
    assert call("check", str(spec)).verdicts() == {"leaders_are_registered": "holds"}


def figures(output: Any) -> dict[str, object]:
    return {e["metric"]: e["value"] for e in output.named("measured")}


def test_a_second_proof_takes_its_conditions_from_the_cache(call: Any) -> None:
    first, second = (call("prove", "idempotence-abstract") for _ in range(2))
    assert figures(first)["conditions from the cache"] == 0
    assert figures(second)["conditions from the cache"] == 22
    assert "8 by frame, 22 from the cache, 0 not proved, " in str(figures(second)["proof"])
    assert second.verdicts() == first.verdicts()


def test_without_the_cache_every_condition_is_decided_and_no_answer_kept(
    call: Any, tmp_path: Path
) -> None:
    words = ("prove", "idempotence-abstract", "--no-cache")
    output = call(*words)
    assert "conditions from the cache" not in figures(output)
    assert not (tmp_path / "cache").exists()
    call(*words[:-1])
    assert "cache" not in str(figures(call(*words))["proof"])


def test_a_cache_that_is_not_writable_is_reported_and_the_proof_holds(
    call: Any, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("")
    output = call("prove", "idempotence-abstract")
    assert output.exit_code == 0
    assert "proved conditions are not kept: " in output.stderr


@pytest.mark.parametrize("option", ["--limit", "--limit-ms"])
def test_a_limit_of_zero_is_rejected(option: str, call: Any) -> None:
    output = call("prove", "transactions-abstract", option, "0")
    assert output.exit_code == 2
    assert f"{option} 0: must be at least 1" in output.stderr


def test_the_limit_of_work_also_holds_for_the_search_for_a_counterexample(
    call: Any, tmp_path: Path
) -> None:
    spec = tmp_path / "placement.py"
    spec.write_text(PIGEONHOLE)
    for limit, found in (("1", "no answer within the limits"), ("100", "no counterexample at ")):
        output = call("prove", str(spec), "--limit", limit)
        assert output.exit_code == 3
        (text,) = (e["text"] for e in output.named("evidence") if "✗ move" in e["text"])
        assert text.splitlines()[1].startswith(found)


PIGEONHOLE = '''
from model.language import Bool, Map, Sort, Spec, action, exists, invariant, when

class Replica(Sort):
    """A replica."""

class Rack(Sort):
    """A rack."""

class Placement(Spec):
    """Seven replicas in six racks; that two share one takes Z3 much work to prove."""

    rack: Map[Replica, Rack]
    is_permitted: Bool

    def scope(s):
        return {Replica: 7, Rack: 6}

    @action
    def move(s, r: Replica, to: Rack) -> None:
        when(s.is_permitted)
        s.rack[r] = to

    @invariant
    def two_share_a_rack(s) -> Bool:
        return exists((a != b) & (s.rack[a] == s.rack[b]) for a in Replica for b in Replica)
'''


def test_conditions_go_to_other_solvers_and_cvc5_agrees(call: Any, tmp_path: Path) -> None:
    folder = tmp_path / "conditions"
    output = call("prove", "transactions-abstract", "--cvc5", "--smtlib", str(folder))
    assert output.exit_code == 0
    (value,) = (e["value"] for e in output.named("measured") if e["metric"] == "cvc5")
    assert value.startswith("agrees on 51 of 51 conditions, ")
    written = sorted((folder / "transactions-abstract-v2").iterdir())
    assert len(written) == 51
    assert {path.suffix for path in written} == {".smt2"}
    assert "51 conditions in SMT-LIB" in output.stderr


def test_a_file_as_folder_of_conditions_is_rejected(call: Any, tmp_path: Path) -> None:
    file = tmp_path / "conditions"
    file.write_text("")
    output = call("prove", "transactions-abstract", "--smtlib", str(file))
    assert output.exit_code == 2
    assert "is a file" in output.stderr
