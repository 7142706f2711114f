"""Commands that a new user types first: each prints little and names the next step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkers.cli.catalogue import CONTENTS, KINDS
from checkers.cli.completion import suites
from checkers.cli.prove import PROVED
from model.faults import nearest
from properties.suites.registry import SUITES
from reference_impl.node.seeded_bugs import SEEDED_BUGS

HEAVY = ("pyspark", "z3", "hypothesis", "numpy", "confluent_kafka", "checkers.explicit.search")
SAFE = str(Path(__file__).parents[2] / "data" / "apache_kafka" / "safe")

COMPLETING = """
import sys
from checkers.cli.main import main
try:
    main()
except SystemExit:
    pass
print(*(name for name in {heavy!r} if name in sys.modules), file=sys.stderr, end="")
"""


def completed(line: str) -> set[str]:
    environment = {
        **os.environ,
        "_URTEIL_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    program = COMPLETING.format(heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == "", f"imported: {done.stderr}"
    return {word.removeprefix("plain,") for word in done.stdout.splitlines()}


def test_list_without_a_kind_lists_the_kinds(call: Any) -> None:
    result = call("list")
    assert result.exit_code == 0
    assert [row["name"] for row in result.named("listed")] == list(KINDS)
    assert list(CONTENTS) == list(KINDS)
    assert [*KINDS] == [
        "specs", "versions", "bugs", "properties", "claims",
        "anomalies", "suites", "sweeps", "left-out",
    ]  # fmt: skip


def test_the_bundled_history_is_analyzed_by_demo(call: Any) -> None:
    result = call("analyze", "--demo", "--engine", "local")
    assert result.exit_code == 1
    assert result.verdicts()["lost-write"] == "violated"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "HISTORY is missing: name a recorded folder or a .parquet, .ndjson or .edn file"),
        (["--demo", "h.edn"], "--demo brings its own history"),
    ],
)
def test_analyze_without_a_history_lists_the_accepted_inputs(
    call: Any, words: list[str], message: str
) -> None:
    result = call("analyze", *words, "--engine", "local")
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_analysis_without_anomalies_is_short_and_names_each_once(call: Any) -> None:
    text = call("analyze", SAFE, "--engine", "local", json_events=False).stdout
    assert len(text.splitlines()) < 25
    assert text.count(" lost-write") == 1


def test_an_analysis_with_anomalies_has_one_table_of_verdicts(call: Any) -> None:
    lines = call("analyze", "--demo", "--engine", "local", json_events=False).stdout.splitlines()
    assert sum(line.startswith("  ✗ lost-write") for line in lines) == 1
    assert sum(line.startswith("✗ lost-write") for line in lines) == 1


def test_doctor_names_the_compiler_and_the_cache_with_its_size(call: Any) -> None:
    figures = {event["metric"]: event["value"] for event in call("doctor").named("measured")}
    assert figures["C compiler"]
    assert figures["cache of compiled specs"].endswith(" MB")
    assert figures["cache of proofs"].endswith(" MB")


def test_doctor_counts_only_complete_entries_of_the_cache_of_proofs(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkers.cli.doctor.cache", lambda name: tmp_path / "cache" / name)
    call("prove", "idempotence-abstract")

    def size() -> str:
        figures = {event["metric"]: event["value"] for event in call("doctor").named("measured")}
        return str(figures["cache of proofs"]).partition(", ")[2]

    entries = list((tmp_path / "cache" / PROVED).iterdir())
    before = size()
    assert before.startswith(f"{len(entries)} conditions, ")
    entries[0].with_suffix(".4711").write_text("a process was killed while it wrote this entry")
    assert size() == before


def test_a_part_of_a_name_finds_the_names_that_contain_it() -> None:
    bugs = [row.name for row in SEEDED_BUGS]
    assert nearest("marker", bugs).startswith("marker-on-one-partition, ")
    assert nearest("ISR", ["weak_isr", "strong", "strong_isr"]) == "weak_isr, strong_isr, strong"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("urteil ch", {"check"}),
        ("urteil check replication-", {"replication-abstract"}),
        ("urteil check replication --variant truncate-to-h", {"truncate-to-hw"}),
        ("urteil check quorum --kafka 4.", {"4.0", "4.1", "4.2", "4.3"}),
        ("urteil check replication --property weak", {"weak_isr"}),
        ("urteil list cl", {"claims"}),
        ("urteil test repl", {"replication"}),
        ("urteil broker --bug no-d", {"no-dedup"}),
        ("urteil analyze --anomaly lost", {"lost-write"}),
        ("urteil explain exactly_once_pu", {"exactly_once_publish"}),
        ("urteil sweep mach", {"machines"}),
        ("urteil check replication --set log", {"log_size="}),
        ("urteil check --engine n", {"numpy"}),
        ("urteil conform --family tran", {"transactions"}),
        ("urteil diff last~", {"last~1"}),
        ("urteil runs --verdict und", {"undecided"}),
        ("urteil runs --claim duplicate-", {"duplicate-across-keys"}),
    ],
)
def test_the_shell_completes_names_without_slow_imports(line: str, offered: set[str]) -> None:
    assert completed(line) == offered


def test_the_completed_suites_are_those_of_the_registry() -> None:
    class Context:
        params: dict[str, object] = {}  # noqa: RUF012 - never changed

    offered: Any = suites
    assert [item.value for item in offered(Context(), None, "")] == sorted(SUITES)
