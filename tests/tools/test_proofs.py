"""A campaign proves each version of a spec on ten seeds. A new campaign begins where the recorded
results end.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from model.specs import find
from tools.proofs.__main__ import main
from tools.proofs.campaign import SEEDS, Task, conduct, proved_versions, tasks
from tools.proofs.page import PAGE, page
from tools.proofs.record import KEPT, Proved, Row, Second, keep, kept

EVERY = list(tasks())
MACHINE = {"CPU": "a machine"}


def test_each_proved_version_has_ten_seeds() -> None:
    versions = [f"{row.spec} {row.name}" for row in proved_versions()]
    assert "idempotence-abstract with-restarts" in versions
    assert not {"replication-abstract with-losses", "transactions-abstract v1"} & set(versions)
    assert len({task.key for task in EVERY}) == len(EVERY) == len(SEEDS) * len(versions)
    assert {task.seed for task in EVERY[: len(versions)]} == {0}


def test_a_proof_on_the_first_seed_has_the_answers_of_cvc5_too() -> None:
    version = find("idempotence-abstract", "kip-360")
    first = conduct(Task(version=version, seed=0))
    assert (first.conditions, first.by_frame, first.open, first.reason) == (30, 8, [], "")
    assert first.second is not None
    assert (first.second.agreed, first.second.conditions, first.second.unknown) == (22, 22, [])
    assert conduct(Task(version=version, seed=1)).second is None


def test_the_failed_conditions_of_a_proof_are_in_the_record() -> None:
    row = conduct(Task(version=find("idempotence-abstract", "any-epoch"), seed=3))
    assert [text.split(":")[0] for text in row.open] == [
        "append_first preserves in_order_without_duplicates",
        "append_first preserves epochs_do_not_go_back",
    ]
    assert row.reason.startswith("2 of 30 conditions not proved")


def row_of(key: Proved) -> Row:
    return Row(
        proved=key,
        conditions=9,
        by_frame=2,
        by_consequence=0,
        open=[],
        reason="",
        cpu_s=0.5,
        load=1.0,
    )


def test_a_campaign_goes_on_where_its_record_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "proofs.json"
    assert kept(file) == ({}, {})
    rows = {task.key: row_of(task.key) for task in EVERY}
    left = next(it for it in EVERY if (it.key.version, it.seed) == ("kip-360", 7)).key
    keep((row for key, row in rows.items() if key != left), MACHINE, file)
    assert main(["--record", str(file), "--page"]) == 3
    assert main(["--record", str(file)]) == 0
    assert "idempotence-abstract kip-360 seed 7" in capsys.readouterr().out
    assert kept(file)[1][left].conditions == 30


def test_the_page_has_failed_proofs_and_what_cvc5_leaves_unknown() -> None:
    key = EVERY[0].key
    second = Second(agreed=5, conditions=7, unknown=["init-safe", "step-safe"], cpu_s=1.0)
    failed = replace(row_of(key), open=["step preserves safe: unknown"], reason="1 of 9")
    text = page(EVERY, {key: replace(failed, second=second)}, MACHINE)
    line = f"| {key.spec} {key.version} | 9 | 2 | 0 | 0 of 1 | 0.5 to 0.5 s | 5 of 7 | 1.0 s |"
    assert line in text
    assert f"1 of {len(EVERY)} proofs are done; 1 failed." in text
    assert "cvc5 agrees on 5 of 7 conditions (71.4%)." in text
    assert f"- {key.spec} {key.version}, seed 0: step preserves safe: unknown" in text
    assert f"- {key.spec} {key.version}, unknown to cvc5: init-safe, step-safe" in text


def test_cvc5_gets_every_condition_but_those_by_frame_or_consequence() -> None:
    _, rows = kept(KEPT)
    compared = [row for row in rows.values() if row.second is not None]
    assert {row.proved.spec for row in compared if row.by_consequence} == {
        "quorum-abstract",
        "coordinator-abstract",
        "reassignment-abstract",
    }
    for row in compared:
        assert row.second is not None
        assert row.second.conditions == row.conditions - row.by_frame - row.by_consequence


def test_the_page_is_that_of_the_record() -> None:
    machine, rows = kept(KEPT)
    assert PAGE.read_text(encoding="utf-8") == page(EVERY, rows, machine)
    assert rows
