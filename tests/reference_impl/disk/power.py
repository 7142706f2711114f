"""Records all changes of a folder, and computes the files that a power loss may leave.

A file has two contents: the present one, and the one at its last flush. A folder has two lists of
names in the same way. A power loss leaves one of the two, or something between: a part of the bytes
that were not flushed, or zeros instead of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

Operation = tuple[Any, ...]


@dataclass(slots=True)
class Recorder:
    """Stands in for the module `os`: does each operation, and records it if it changes a file."""

    root: Path
    operations: list[Operation] = field(default_factory=list[Operation])
    _open: dict[int, Path] = field(default_factory=dict[int, Path])

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int:
        is_new = not path.exists()
        file = os.open(path, flags, mode)
        self._open[file] = path
        if is_new or flags & os.O_TRUNC:
            self._record("create" if is_new else "truncate", path, *([] if is_new else [0]))
        return file

    def write(self, file: int, data: bytes) -> int:
        written = os.write(file, data)
        self._record("write", self._open[file], bytes(data[:written]))
        return written

    def fsync(self, file: int) -> None:
        self._record("flush", self._open[file])

    fdatasync = fsync

    def truncate(self, path: Path, size: int) -> None:
        os.truncate(path, size)
        self._record("truncate", path, size)

    def replace(self, old: Path, new: Path) -> None:
        os.replace(old, new)
        self._record("rename", old, new)

    rename = replace

    def unlink(self, path: Path) -> None:
        os.unlink(path)
        self._record("unlink", path)

    def mkdir(self, path: Path) -> None:
        os.mkdir(path)
        self._record("mkdir", path)

    def rmdir(self, path: Path) -> None:
        os.rmdir(path)
        self._record("unlink", path)

    def _record(self, name: str, path: Path, *rest: Any) -> None:
        if path.is_relative_to(self.root):
            self.operations.append((name, path, *rest))


@dataclass(slots=True, eq=False)
class File:
    content: bytes = b""
    flushed: bytes = b""


@dataclass(slots=True, eq=False)
class Folder:
    names: dict[str, File | Folder] = field(default_factory=dict[str, "File | Folder"])
    flushed: dict[str, File | Folder] = field(default_factory=dict[str, "File | Folder"])


def _kept(file: File) -> bytes:
    return file.content


def _lost(file: File) -> bytes:
    return file.flushed


def _torn(file: File) -> bytes:
    same = _unchanged(file)
    return file.content[: (same + len(file.content) + 1) // 2]


def _zeros(file: File) -> bytes:
    same = _unchanged(file)
    return file.content[:same] + bytes(len(file.content) - same)


def _unchanged(file: File) -> int:
    pairs = enumerate(zip(file.content, file.flushed, strict=False))
    shorter = min(len(file.content), len(file.flushed))
    return next((at for at, (now, then) in pairs if now != then), shorter)


CONTENTS: Mapping[str, Callable[[File], bytes]] = {
    "kept": _kept, "lost": _lost, "torn": _torn, "zeros": _zeros,
}  # fmt: skip


class Loss(NamedTuple):
    """A kind of power loss.

    `keeps_names` is True if the unflushed creations, renames and deletions of files survive.
    `content` is a key of `CONTENTS`: what is left of the unflushed content of a file.
    """

    keeps_names: bool
    content: str

    def __str__(self) -> str:
        return f"names {'kept' if self.keeps_names else 'lost'}, contents {self.content}"


LOSSES = [Loss(*of) for of in product((True, False), CONTENTS)]


@dataclass(slots=True)
class Disk:
    """The files below the folder `root`, as the applied operations have left them."""

    root: Path
    top: Folder = field(default_factory=Folder)

    def apply(self, operation: Operation) -> None:
        name, path, *rest = operation
        if name == "flush":
            of = self._at(path)
            if isinstance(of, Folder):
                of.flushed = dict(of.names)
            else:
                of.flushed = of.content
            return
        parent = self._at(path.parent)
        assert isinstance(parent, Folder)
        match name:
            case "create":
                parent.names[path.name] = File()
            case "mkdir":
                parent.names[path.name] = Folder()
            case "unlink":
                del parent.names[path.name]
            case "rename":
                to = self._at(rest[0].parent)
                assert isinstance(to, Folder)
                to.names[rest[0].name] = parent.names.pop(path.name)
            case _:
                file = parent.names[path.name]
                assert isinstance(file, File)
                (change,) = rest
                is_write = name == "write"
                file.content = file.content + change if is_write else file.content[:change]

    def _at(self, path: Path) -> File | Folder:
        at: File | Folder = self.top
        for part in path.relative_to(self.root).parts:
            assert isinstance(at, Folder)
            at = at.names[part]
        return at

    def left(self, loss: Loss) -> Iterator[tuple[Path, bytes | None]]:
        """Yields the files and folders after a power loss; the content of a folder is None."""

        def below(folder: Folder, path: Path) -> Iterator[tuple[Path, bytes | None]]:
            for name, of in (folder.names if loss.keeps_names else folder.flushed).items():
                if isinstance(of, Folder):
                    yield path / name, None
                    yield from below(of, path / name)
                else:
                    yield path / name, CONTENTS[loss.content](of)

        yield from below(self.top, Path())


def write(left: Iterator[tuple[Path, bytes | None]], folder: Path) -> None:
    folder.mkdir()
    for path, content in left:
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)
