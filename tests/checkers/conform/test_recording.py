"""A recording is read back unchanged; a file that is no recording is rejected."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from checkers.conform.families import sequence
from checkers.conform.recording import Recorded, Recorder, UnreadableRecording, read
from checkers.conform.steps import Collect, Send
from model.faults import InputFault


def recorded(family: str) -> Recorded:
    drawn = sequence(family, 1)
    answers = {
        index: {"error_code": "NONE", "number": index}
        for index, step in enumerate(drawn.steps)
        if isinstance(step, Send | Collect)
    }
    return Recorded(sequence=drawn, answers=answers)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    recorder = Recorder(tmp_path / "answers.jsonl.gz", "some system")
    for family in ("appends", "classic-groups"):
        recorder.add(recorded(family))
    recorder.write()
    return recorder.file


def test_a_recording_has_the_sequences_and_their_answers(file: Path) -> None:
    found = read(file)
    assert found.system == "some system"
    assert [one.sequence.name for one in found.sequences] == ["appends 1", "classic-groups 1"]
    assert found.pairs == sum(len(recorded(name).answers) for name in ("appends", "classic-groups"))
    first = found.sequences[0]
    assert first.answers == recorded("appends").answers
    assert len(first.sequence.steps) == len(sequence("appends", 1).steps)
    assert first.sequence.topics == sequence("appends", 1).topics


def test_the_same_answers_make_the_same_bytes(file: Path, tmp_path: Path) -> None:
    again = Recorder(tmp_path / "again", "some system")
    for family in ("appends", "classic-groups"):
        again.add(recorded(family))
    again.write()
    assert again.file.read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a recording"),
        ("{}\n", "not a recording"),
        ('{"format": 9, "system": "x"}\n', "this release reads 1"),
        ('{"format": 1, "system": "x"}\n{"family": "appends"}\n', "not a recording"),
    ],
)
def test_another_file_is_refused(text: str, why: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(UnreadableRecording, match=why):
        read(other)


def test_a_file_that_is_not_gzipped_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UnreadableRecording, match="not gzipped"):
        read(tmp_path / "text")
    with pytest.raises(UnreadableRecording, match="No such file"):
        read(tmp_path / "missing")


def test_a_missing_answer_is_named(file: Path) -> None:
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    cells = json.loads(lines[1])
    del cells["answers"][min(cells["answers"], key=int)]
    file.write_bytes(gzip.compress("\n".join((lines[0], json.dumps(cells))).encode()))
    with pytest.raises(UnreadableRecording, match="appends 1 lacks the answer to step"):
        read(file)


def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputFault, match="name another file"):
        Recorder(tmp_path / "no" / "folder", "x")
