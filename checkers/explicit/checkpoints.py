"""Writes the checkpoints of one search to its run folder.

Each checkpoint adds a file with the bytes that are new since the previous checkpoint. A resumed run
makes hard links to the files of the earlier run, so each of the two folders can be deleted without
damage to the other folder.
"""

from __future__ import annotations

import errno
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from checkers.disk_full import FULL
from checkers.explicit.checkpoint import AGAIN, NEW_LIST, Bytes, Checkpoint, Segment
from model.faults import InputFault

WAITING: Final = "waiting"  # the array that each checkpoint replaces


@dataclass
class Checkpoints:
    """Writes the checkpoints of one search to a folder. A checkpoint is due every `every_s`
    seconds.

    - `resumed` is the checkpoint of an earlier run from which the search resumes, or None.
    - `announce` is called with this checkpoint when the search resumes.
    - `note` is called with the reason if a checkpoint cannot be written.
    """

    folder: Path
    every_s: float
    identity: dict[str, Any]
    command: str
    resumed: Checkpoint | None = None
    announce: Callable[[Checkpoint], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self.last: Checkpoint | None = None  # in the folder
        self._files = 0  # begun so far
        self._next = time.monotonic() + self.every_s

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def require(self, **identity: Any) -> None:
        """Adds these facts to the identity of the search. Raises InputFault if the checkpoint
        from which the search resumes has another value of a fact.
        """
        self.identity |= identity
        if self.resumed is None:
            return
        for name, mine in self.identity.items():
            kept = self.resumed.identity.get(name)
            if kept != mine:
                raise InputFault(f"--resume: {differs(name, kept, mine, self.resumed)}")

    def stored(self, name: str) -> int:
        """Returns how many bytes of the array `name` are in the latest checkpoint.
        Returns 0 if there is no checkpoint yet.
        """
        return sum(one.bytes_of(name) for one in self.last.segments) if self.last else 0

    def write(
        self,
        facts: Mapping[str, Any],
        new: Mapping[str, Bytes],
        facts_of_new: Mapping[str, Any],
        waiting: Sequence[Bytes] = (),
    ) -> None:
        """Writes a checkpoint: the files of the latest checkpoint, and a new file with the bytes in
        `new`.

        `new` has, for each array, the bytes that the latest checkpoint does not have. `waiting` has
        the states that are not yet expanded; it is written to a file of its own, which replaces the
        corresponding file of the latest checkpoint. If the system refuses to write, the latest
        checkpoint remains valid, and the search can continue.
        """
        old = [one for one in self.last.segments if WAITING not in one.parts] if self.last else []

        def segments() -> Iterator[Segment]:
            yield from old
            arrays = {name: [array] for name, array in new.items()}
            yield Segment.write(self._file(), arrays, facts_of_new)
            if waiting:
                yield Segment.write(self._file(), {WAITING: waiting}, {})

        self._save(segments, facts)

    def adopt(self, kept: Checkpoint) -> None:
        """Copies a checkpoint of another folder to this folder, by hard links if possible."""
        self._save(lambda: map(self._linked, kept.segments), kept.facts)

    def remove(self) -> None:
        """Deletes the folder with its checkpoint, because the search has ended."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _save(self, segments: Callable[[], Iterable[Segment]], facts: Mapping[str, Any]) -> None:
        first = self._files + 1
        try:
            self.folder.mkdir(exist_ok=True)
            made = Checkpoint(
                segments=tuple(segments()),
                facts=facts,
                identity=self.identity,
                command=self.command,
                every_s=self.every_s,
                written=datetime.now(tz=UTC).isoformat(timespec="seconds"),
            )
            made.save(self.folder)
        except OSError as why:
            for name in (NEW_LIST, *(f"{n}.bin" for n in range(first, self._files + 1))):
                (self.folder / name).unlink(missing_ok=True)
            before = f"; the one of {self.last.written} stays" if self.last else ""
            self.note(f"no checkpoint was written to {self.folder}: {why.strerror}{before}")
        else:
            self.last = made
            made.delete_others(self.folder)
        self._next = time.monotonic() + self.every_s

    def _file(self) -> Path:
        self._files += 1
        return self.folder / f"{self._files}.bin"

    def _linked(self, segment: Segment) -> Segment:
        path = self._file()
        try:
            path.hardlink_to(segment.file)
        except OSError as why:
            if why.errno in (*FULL, errno.EACCES):
                raise
            shutil.copyfile(segment.file, path)  # another file system, or one without links
        return Segment(file=path, parts=segment.parts, facts=segment.facts)


def differs(name: str, kept: Any, mine: Any, resumed: Checkpoint) -> str:
    """Returns the text of an error: the search of a checkpoint differs from this search in the
    fact `name`. The text ends with what the user can do.
    """
    if name == "code":
        return f"the spec or the C code of Urteil has changed since; {AGAIN}"
    if name == "urteil":
        return f"Urteil {kept} wrote the checkpoint, and this is {mine}; use {kept}, or {AGAIN}"
    return (
        f"the {name} of its search: {in_words(kept)}, of this one: {in_words(mine)}; repeat its "
        f"command, {resumed.command}, with --resume, or {AGAIN}"
    )


def in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={in_words(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(in_words, value)) or "none"
    return json.dumps(value) if isinstance(value, bool) else str(value)
