"""Reads and writes a recording: sequences of requests, with the answers that one system gave.

A recording is a gzipped file with lines of JSON. The first line names the system. Each of the other
lines contains one sequence: its topics, its steps and the answers.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from checkers.conform.steps import Begin, Collect, Send, Steps, Topic, as_json, from_json
from model.faults import InputFault

FORMAT: Final = 1


class UnreadableRecording(InputFault):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    sequence: Steps
    answers: Mapping[int, Any]

    # ------------------------------------------------------------ a side of a comparison

    @property
    def is_running(self) -> bool:
        return False

    def has(self, send: Send) -> bool:
        """Returns True, because a recording contains only requests that the recorded system
        supported.
        """
        del send
        return True

    def send(self, index: int, step: Send) -> Any:
        del step
        return self.answers[index]

    def begin(self, index: int, step: Begin) -> None:
        """Does nothing. The recorded answer is returned by `collect`."""

    def collect(self, index: int, step: Collect, until: float) -> Any:
        del step, until
        return self.answers[index]

    def keep(self, step: Send) -> None:
        """Does nothing. A recording sends no requests, so it needs no values from
        earlier answers.
        """

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    system: str
    sequences: tuple[Recorded, ...]

    @property
    def pairs(self) -> int:
        return sum(len(one.answers) for one in self.sequences)


@dataclass(slots=True)
class Recorder:
    file: Path
    system: str
    _lines: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        try:
            self.file.touch()
        except OSError as fault:
            raise InputFault(f"{self.file}: {fault.strerror}; name another file") from fault

    def add(self, recorded: Recorded) -> None:
        sequence = recorded.sequence
        cells = {
            "family": sequence.family,
            "seed": sequence.seed,
            "topics": [[one.name, one.partitions, dict(one.configs)] for one in sequence.topics],
            "steps": [as_json(step) for step in sequence.steps],
            "answers": recorded.answers,
        }
        self._lines.append(json.dumps(cells, separators=(",", ":")))

    def write(self) -> None:
        """Writes the recording to the file. Two recordings with equal answers are equal byte for
        byte.
        """
        header = json.dumps({"format": FORMAT, "system": self.system})
        text = "\n".join((header, *self._lines)) + "\n"
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as lines:
            lines.write(text.encode())
        self.file.write_bytes(packed.getvalue())


def read(file: Path) -> Recording:
    """Returns the recording in a file. Raises UnreadableRecording if the file is unreadable or is
    not a recording of this format.
    """
    try:
        lines = gzip.decompress(file.read_bytes()).decode().splitlines()
        header = json.loads(lines[0])
        if header["format"] != FORMAT:
            raise UnreadableRecording(
                f"{file}: a recording of format {header['format']}, this release reads {FORMAT}: "
                "record it again with --record"
            )
        found = tuple(_sequence(json.loads(line)) for line in lines[1:])
        return Recording(system=header["system"], sequences=found)
    except OSError as fault:
        why = fault.strerror or "not gzipped"
        raise UnreadableRecording(f"{file}: {why}; name a file of --record") from fault
    except (EOFError, ValueError, KeyError, IndexError, TypeError) as fault:
        raise UnreadableRecording(
            f"{file}: not a recording ({type(fault).__name__}: {fault}); name a file of --record"
        ) from fault


def _sequence(cells: Mapping[str, Any]) -> Recorded:
    sequence = Steps(
        family=cells["family"],
        seed=cells["seed"],
        topics=tuple(
            Topic(name=name, partitions=partitions, configs=configs)
            for name, partitions, configs in cells["topics"]
        ),
        steps=tuple(from_json(step) for step in cells["steps"]),
    )
    answers = {int(index): answer for index, answer in cells["answers"].items()}
    needed = {at for at, step in enumerate(sequence.steps) if isinstance(step, Send | Collect)}
    if needed - set(answers):
        raise ValueError(f"{sequence.name} lacks the answer to step {min(needed - set(answers))}")
    return Recorded(sequence=sequence, answers=answers)
