"""`urteil conform` compares the reference broker with itself and with changed recordings."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checkers.cli.main import urteil
from checkers.conform.families import FAMILIES

Cells = dict[str, Any]
KINDS = ("appends", "deletions", "metadata")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records the reference broker's responses to 70 requests; returns the path of the recording.

    The requests belong to several sequences. A sequence is a list of requests for one fresh topic.
    """
    folder = tmp_path_factory.mktemp("conform")
    words = [word for family in KINDS for word in ("--family", family)]
    file = folder / "served.jsonl.gz"
    options = ["--pairs", "70", "--record", str(file), "--out", str(folder)]
    result = CliRunner().invoke(urteil, ["conform", "--on", "served", *words, *options])
    assert result.exit_code == 0, result.output
    return file


def changed(file: Path, change: Callable[[Cells], bool]) -> str:
    """Writes a copy of the recording with one changed answer; returns its path.

    Calls `change` on each answer until a call returns True.
    """
    header, *lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    sequences = [json.loads(line) for line in lines]
    answers = (answers for one in sequences for answers in (one["answers"],))
    assert any(_changes(cells, change) for cells in answers), "no answer to change"
    other = file.with_name("changed.jsonl.gz")
    text = "\n".join((header, *map(json.dumps, sequences)))
    other.write_bytes(gzip.compress(text.encode()))
    return str(other)


def _changes(answers: Cells, change: Callable[[Cells], bool]) -> bool:
    return any(
        change(cells)
        for index in sorted(answers, key=int)
        for cells in (answers, *inside(answers[index]))
        if cells is not answers or change.__name__ == "closed"
    )


def inside(value: Any) -> Iterator[Cells]:
    if isinstance(value, dict):
        yield value
        for cell in value.values():
            yield from inside(cell)
    elif isinstance(value, list):
        for one in value:
            yield from inside(one)


def replaces(name: str, before: Any, after: Any) -> Callable[[Cells], bool]:
    def change(cells: Cells) -> bool:
        if name not in cells or cells[name] != before:
            return False
        cells[name] = after
        return True

    return change


def longer(name: str) -> Callable[[Cells], bool]:
    def change(cells: Cells) -> bool:
        if not cells.get(name):
            return False
        cells[name].append(cells[name][-1])
        return True

    return change


def lacks(name: str) -> Callable[[Cells], bool]:
    return lambda cells: cells.pop(name, None) is not None


def closed(answers: Cells) -> bool:
    answers[min(answers, key=int)] = "the connection is closed"
    return True


def other_value(cells: Cells) -> bool:
    if not cells.get("records") or not isinstance(cells["records"][0], list):
        return False
    cells["records"][0][2] = "another value"
    return True


def test_the_reference_broker_conforms_to_itself(call: Any) -> None:
    output = call("conform", "--on", "served", "--pairs", "60", "--workers", "8", "--seed", "3")
    assert output.exit_code == 0
    assert set(output.verdicts().values()) == {"holds"}
    figures = {one["metric"]: one["value"] for one in output.named("measured")}
    assert figures["pairs compared"] == figures["pairs sent"] >= 60
    assert figures["pairs that differ: ours to fix"] == 0


def test_one_sequence_is_run_again_by_its_name(call: Any) -> None:
    output = call("conform", "--on", "served", "--sequence", "deletions:7")
    assert output.exit_code == 0
    assert output.verdicts() == {"conform-deletions": "holds"}


def test_an_unchanged_recording_leaves_nothing_unexplained(call: Any, recorded: Path) -> None:
    output = call("conform", "--against", str(recorded))
    assert output.exit_code == 0
    assert output.verdicts() == dict.fromkeys((f"conform-{name}" for name in KINDS), "holds")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (replaces("error_code", "NONE", "FENCED_LEADER_EPOCH"), "error_code is FENCED_LEADER"),
        (replaces("base_offset", 0, 1), "base_offset is 1, of the reference broker 0"),
        (replaces("producer_id", "producer 1", "producer 2"), "producer_id is producer 2"),
        (replaces("timestamp", -1, "begin+5"), "timestamp is begin+5, of the reference broker -1"),
        (replaces("node_id", "broker", -1), "node_id is -1, of the reference broker broker"),
        (replaces("log_start_offset", 0, 4), "log_start_offset is 4, of the reference broker 0"),
        (other_value, "records is another value"),
        (longer("partitions"), "partitions (count) is 2, of the reference broker 1"),
        (lacks("last_stable_offset"), "last_stable_offset is (absent)"),
        (closed, "answer is the connection is closed"),
    ],
)
def test_each_kind_of_difference_is_found(
    change: Callable[[Cells], bool], place: str, call: Any, recorded: Path
) -> None:
    output = call("conform", "--against", changed(recorded, change))
    assert output.exit_code == 1
    texts = [one["text"] for one in output.named("evidence")]
    assert any(place in text for text in texts), texts
    assert "again: urteil conform --on SYSTEM --sequence " in texts[0]
    assert "violated" in output.verdicts().values()
    (reason,) = {
        one["reason"] for one in output.named("property_decided") if one["verdict"] == "violated"
    }
    assert "differ without a reason" in reason


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "name either a system with --on, or a recording with --against"),
        (("--on", "served", "--against", "x"), "name either a system"),
        (("--against", "missing.gz"), "missing.gz: No such file or directory"),
        (("--against", "missing.gz", "--record", "y"), "leave out the other options"),
        (("--on", "served", "--family", "append"), "appends"),
        (("--on", "served", "--sequence", "appends"), "a family and a number"),
        (("--on", "nothing"), "the nearest names"),
        (("--on", "127.0.0.1:1"), "name a broker that runs"),
    ],
)
def test_the_error_for_wrong_usage_says_what_to_do(
    words: tuple[str, ...], why: str, call: Any
) -> None:
    output = call("conform", *words)
    assert output.exit_code == 2
    assert why in output.stderr


def test_families_are_named_in_the_help_of_their_verdicts() -> None:
    assert all(family.about for family in FAMILIES.values())
