"""A condition is proved once: its answer is found again only for exactly the same condition."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import z3

from checkers.symbolic import Proof, ProofCache, proof_cache, prove
from checkers.symbolic.condition import Condition
from checkers.symbolic.proof_cache import printed
from checkers.symbolic.sorts import Unbounded
from model.language import Bool, Spec, action, forall, implies, lemma, when
from model.transactions_abstract.versions import Transactions, Version1
from tests.checkers.symbolic.test_inductive_subset import Broker, Registration, UnfencesAnyBroker
from tests.checkers.symbolic.test_majorities import Votes
from tests.checkers.symbolic.test_proof import Sliced

SOLVED = 11  # conditions of Registration that need a solver


@pytest.fixture
def cache(tmp_path: Path) -> ProofCache:
    return ProofCache(tmp_path / "proved")


def kept(proof: Proof) -> int:
    return proof.from_cache


def decided(proof: Proof) -> set[str]:
    """Returns the conditions that needed a query: they were not in the cache, and their action
    changes a variable of their claim.
    """
    return {
        f"{c.action} {c.claim}" for c in proof.conditions if not c.from_cache and c.how != "frame"
    }


def answers(proof: Proof) -> list[Condition]:
    again = proof.subset.decided_again if proof.subset is not None else ()
    return [replace(c, seconds=0.0, from_cache=False) for c in (*proof.conditions, *again)]


# ---- the same condition


@pytest.mark.parametrize("spec", [Transactions, Version1, Votes, Sliced, UnfencesAnyBroker])
def test_the_cache_changes_no_answer(spec: Callable[[], Spec], cache: ProofCache) -> None:
    without, first, second = prove(spec()), prove(spec(), cache=cache), prove(spec(), cache=cache)
    assert answers(without) == answers(first) == answers(second)
    assert without.summaries[0].verdict == second.summaries[0].verdict
    assert second.assumptions == without.assumptions
    proved = [c for c in second.conditions if c.verdict == "proved" and c.how != "frame"]
    assert second.from_cache == len(proved) - second.by_consequence


def test_a_proof_says_how_many_conditions_are_from_the_cache(cache: ProofCache) -> None:
    first, second = prove(Registration(), cache=cache), prove(Registration(), cache=cache)
    assert "cache" not in str(first)
    assert str(second) == (
        "Registration: 20 conditions, 9 by frame, 11 from the cache, 0 not proved, 0.0 s in Z3: "
        "proved"
    )
    assert str(second.conditions[0]) == (
        "init preserves leaders_are_registered: proved (e-matching, from the cache)"
    )


def test_two_processes_at_once_have_the_same_keys_whatever_they_proved_before(
    cache: ProofCache,
) -> None:
    program = (
        "import sys; from pathlib import Path; from checkers.symbolic import ProofCache, prove;"
        "from tests.checkers.symbolic.test_inductive_subset import Registration;"
        "prove(Registration(), cache=ProofCache(Path(sys.argv[1])))"
    )
    words = [sys.executable, "-c", program, str(cache.folder)]
    started = [subprocess.Popen(words, env={**os.environ, "PYTHONHASHSEED": seed}) for seed in "12"]
    assert [process.wait() for process in started] == [0, 0]
    prove(Sliced())  # so that Z3 numbers the variables of the next proof otherwise
    assert kept(prove(Registration(), cache=cache)) == SOLVED
    names = sorted(file.name for file in cache.folder.iterdir())
    assert {Path(name).suffix for name in names} == {".json"}
    assert len(names) == SOLVED


# ---- another condition


class UnfencesKnownBrokers(Registration):
    """The spec `Registration`, in which the action `unfence` has another guard."""

    @action
    def unfence(s, b: Broker) -> None:
        when(s.registered[b], s.known[b])
        s.unfenced[b] = True


class WeakerLemma(Registration):
    """The spec `Registration` with another lemma, which is weaker and also true."""

    @lemma
    def registered_are_known(s) -> Bool:
        return forall(implies(s.registered[b] & s.unfenced[b], s.known[b]) for b in Broker)


def test_a_changed_guard_misses_at_its_action(cache: ProofCache) -> None:
    prove(Registration(), cache=cache)
    assert decided(prove(UnfencesKnownBrokers(), cache=cache)) == {
        "unfence unfenced_are_registered"
    }


def test_a_changed_lemma_misses_at_every_action(cache: ProofCache) -> None:
    prove(Registration(), cache=cache)
    proof = prove(WeakerLemma(), cache=cache)
    from_cache = {f"{c.action} {c.claim}" for c in proof.conditions if c.from_cache}
    assert from_cache == {  # they assume no lemma, and are about unchanged claims
        "init leaders_are_registered",
        "init racks_are_of_known_brokers",
        "init unfenced_are_registered",
    }


def test_another_seed_limit_solver_or_code_misses(
    cache: ProofCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove(Registration(), cache=cache)
    assert kept(prove(Registration(), cache=cache, seed=1)) == 0
    assert kept(prove(Registration(), cache=cache, units=99_999_999)) == 0
    assert kept(prove(Registration(), cache=cache, limit_ms=19_999)) == 0
    with monkeypatch.context() as changed:
        changed.setattr(proof_cache, "solver_version", lambda: "Z3 1.2.3")
        assert kept(prove(Registration(), cache=cache)) == 0
    with monkeypatch.context() as changed:
        changed.setattr(proof_cache, "sources", lambda: "other code of this package")
        assert kept(prove(Registration(), cache=cache)) == 0
    assert kept(prove(Registration(), cache=cache)) == SOLVED


def test_a_proof_of_the_corrected_protocol_proves_nothing_of_the_bug(cache: ProofCache) -> None:
    prove(Registration(), cache=cache)
    proof = prove(UnfencesAnyBroker(), cache=cache)
    assert [str(c).partition(" (")[0] for c in proof.failed] == [
        "unfence preserves unfenced_are_registered: refuted"
    ]
    assert answers(proof) == answers(prove(UnfencesAnyBroker()))


def test_only_proofs_are_kept(cache: ProofCache) -> None:
    for _ in range(2):
        proof = prove(Version1(), cache=cache)
        assert {c.verdict for c in proof.failed} == {"refuted"}
        assert not any(c.from_cache for c in proof.failed)


def test_formulas_that_differ_only_in_the_order_of_variables_are_printed_differently() -> None:
    sorts = Unbounded()
    sort = z3.DeclareSort("Broker", sorts.context)
    trusts = z3.Function("trusts", sort, sort, z3.BoolSort(sorts.context))

    def fresh(swapped: bool) -> str:
        a, b = (z3.FreshConst(sort, "b") for _ in range(2))
        return printed(z3.ForAll([a, b], trusts(b, a) if swapped else trusts(a, b)), sorts)

    assert fresh(swapped=False) == fresh(swapped=False)
    assert fresh(swapped=True) == fresh(swapped=True) != fresh(swapped=False)


def test_the_sort_of_a_variable_is_part_of_the_text() -> None:
    texts = set[str]()
    for name in ("Broker", "Topic"):
        sorts = Unbounded()
        sort = z3.DeclareSort(name, sorts.context)
        is_on = z3.Function("is_on", sort, z3.BoolSort(sorts.context))
        texts.add(printed(is_on(z3.Const("x", sort)), sorts))
    assert len(texts) == 2


# ---- entries that cannot be used


def test_a_damaged_entry_is_ignored_and_replaced(cache: ProofCache) -> None:
    prove(Registration(), cache=cache)
    files = sorted(cache.folder.iterdir())
    whole = [file.read_bytes() for file in files]
    damages: list[Callable[[bytes], bytes]] = [
        lambda _: b"",
        lambda it: it[:-1],
        lambda it: it + b" ",
        lambda it: it.replace(b"e-matching", b"e-marching"),
        lambda it: it.replace(b"{", b"["),
        lambda _: b"\xff\xfe\x00",
        lambda it: it.partition(b"\n")[2],
    ]
    for file, text, damage in zip(files, whole, damages, strict=False):
        file.write_bytes(damage(text))
    proof = prove(Registration(), cache=cache)
    assert (proof.holds, proof.from_cache) == (True, SOLVED - len(damages))
    assert [file.read_bytes() for file in files] == whole


def test_the_entry_of_another_condition_is_ignored(cache: ProofCache) -> None:
    prove(Registration(), cache=cache)
    files = sorted(cache.folder.iterdir())
    texts = [file.read_text() for file in files]
    for file, text in zip(files, [*texts[1:], texts[0]], strict=True):
        file.write_text(text)
    assert kept(prove(Registration(), cache=cache)) == 0
    assert kept(prove(Registration(), cache=cache)) == SOLVED


def test_a_folder_that_cannot_be_written_fails_no_proof(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ProofCache(tmp_path / "file" / "proved")
    assert prove(Registration(), cache=cache).holds
    assert "Not a directory" in cache.fault


def test_a_disk_that_is_full_leaves_no_partial_entry(
    cache: ProofCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: Path, _target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    prove(Registration(), cache=cache)
    assert "No space left" in cache.fault
    assert list(cache.folder.iterdir()) == []
