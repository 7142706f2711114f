"""An incomplete or damaged checkpoint is refused. If the writing of a checkpoint fails, the
previous checkpoint stays.
"""

from __future__ import annotations

import errno
import json
import os
import resource
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checkers.explicit.checkpoint import Bytes, Checkpoint, UnusableCheckpoint
from checkers.explicit.checkpoints import Checkpoints
from model.faults import InputFault


class Killed(BaseException):
    """Stands for the end of the process."""


def array(text: str) -> Bytes:
    return np.frombuffer(text.encode(), np.uint8)


def checkpoints(folder: Path, **values: Any) -> Checkpoints:
    return Checkpoints(folder, 0.0, {"spec": "lease"}, "urteil check lease", **values)


def write(to: Checkpoints, states: str, waiting: str = "", **facts: Any) -> None:
    new = {"states": array(states), "parents": array("*" * len(states))}
    to.write(facts, new, {"widths": [len(states)]}, [array(waiting)] if waiting else ())


def states(kept: Checkpoint) -> str:
    return "".join(bytes(one.part("states")).decode() for one in kept.segments)


def test_each_checkpoint_adds_what_is_new_and_replaces_what_waits(tmp_path: Path) -> None:
    mine = checkpoints(tmp_path / "one")
    write(mine, "abc", "c", depth=1)
    first = (tmp_path / "one" / "1.bin").read_bytes()
    assert mine.stored("states") == 3
    write(mine, "defg", "fg", depth=2)
    kept = Checkpoint.read(tmp_path / "one")
    assert (states(kept), kept.facts) == ("abcdefg", {"depth": 2})
    assert [one.facts for one in kept.segments] == [{"widths": [3]}, {"widths": [4]}, {}]
    assert "".join(bytes(one.part("waiting")).decode() for one in kept.segments) == "fg"
    assert (tmp_path / "one" / "1.bin").read_bytes() == first
    names = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert names == ["1.bin", "3.bin", "4.bin", "checkpoint.json"]


def test_a_resumed_run_and_the_earlier_one_do_not_share_a_folder(tmp_path: Path) -> None:
    mine = checkpoints(tmp_path / "one")
    write(mine, "abc", depth=1)
    both = [checkpoints(tmp_path / name) for name in ("two", "three")]
    for number, other in enumerate(both):
        other.adopt(Checkpoint.read(tmp_path / "one"))
        write(other, "x" * (number + 1), depth=2)
    assert states(Checkpoint.read(tmp_path / "one")) == "abc"
    mine.remove()
    both[0].remove()
    assert states(Checkpoint.read(tmp_path / "three")) == "abcxx"


def dies(patch: pytest.MonkeyPatch, name: str, moments: Iterator[int], when: int) -> None:
    does: Callable[..., Any] = getattr(os, name)

    def dying(*words: Any, **options: Any) -> Any:
        if next(moments) == when:
            raise Killed
        return does(*words, **options)

    patch.setattr(os, name, dying)


def test_a_kill_at_any_moment_leaves_a_whole_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test writes the same checkpoint many times. Each time it stops before another call that
    writes, syncs, renames or deletes a file.
    """
    found: list[str] = []
    for when in count():
        folder = tmp_path / str(when)
        mine = checkpoints(folder)
        write(mine, "abc", "c", depth=1)
        with monkeypatch.context() as patch:
            moments = count()
            for name in ("fsync", "replace", "rename", "unlink", "open"):
                dies(patch, name, moments, when)
            try:
                write(mine, "defg", "fg", depth=2)
            except Killed:
                pass
            else:
                break
        found.append(states(Checkpoint.read(folder)))
        again = checkpoints(tmp_path / f"{when}-resumed")
        again.adopt(Checkpoint.read(folder))
        write(again, "hi", "i", depth=3)
        assert states(Checkpoint.read(again.folder)) == found[-1] + "hi"
    assert list(dict.fromkeys(found)) == ["abc", "abcdefg"]
    assert len(found) >= 6


def test_every_changed_or_missing_byte_is_noticed(tmp_path: Path) -> None:
    mine = checkpoints(tmp_path / "one")
    write(mine, "abc", "c", depth=1)
    for file in (tmp_path / "one").iterdir():
        whole = file.read_bytes()
        for place in range(0, len(whole), 1 if file.suffix == ".bin" else 5):
            for damaged in (whole[:place], whole[:place] + b"~" + whole[place + 1 :]):
                file.write_bytes(damaged)
                with pytest.raises(UnusableCheckpoint, match=r"without --resume$"):
                    Checkpoint.read(tmp_path / "one")
        file.unlink()
        with pytest.raises(UnusableCheckpoint, match=f"{file.name}: No such file or directory; "):
            Checkpoint.read(tmp_path / "one")
        file.write_bytes(whole)
    assert states(Checkpoint.read(tmp_path / "one")) == "abc"


def test_a_list_of_another_release_is_refused(tmp_path: Path) -> None:
    mine = checkpoints(tmp_path / "one")
    write(mine, "abc")
    file = tmp_path / "one" / "checkpoint.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": 2}))
    with pytest.raises(UnusableCheckpoint, match="another release of Urteil wrote it"):
        Checkpoint.read(tmp_path / "one")


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    notes: list[str] = []
    mine = checkpoints(tmp_path / "one", note=notes.append)
    write(mine, "abc", depth=1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        write(mine, "d" * 200_000, depth=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    (note,) = notes
    assert note.startswith(f"no checkpoint was written to {tmp_path / 'one'}: File too large; ")
    assert sorted(file.name for file in (tmp_path / "one").iterdir()) == [
        "1.bin",
        "checkpoint.json",
    ]
    write(mine, "d" * 200_000, depth=2)
    assert states(Checkpoint.read(tmp_path / "one")) == "abc" + "d" * 200_000


def test_without_links_the_files_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*words: Any, **options: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    mine, other = checkpoints(tmp_path / "one"), checkpoints(tmp_path / "two")
    write(mine, "abc")
    monkeypatch.setattr(os, "link", link)
    other.adopt(Checkpoint.read(tmp_path / "one"))
    assert states(Checkpoint.read(tmp_path / "two")) == "abc"
    assert (tmp_path / "two" / "1.bin").stat().st_nlink == 1


@pytest.mark.parametrize(
    ("mine", "why"),
    [
        ({"spec": "quorum"}, "the spec of its search: lease, of this one: quorum; repeat its comm"),
        ({"constants": {"n": 3}}, "the constants of its search: None, of this one: n=3; repeat"),
        ({"urteil": "9"}, "Urteil None wrote the checkpoint, and this is 9; use"),
        ({"code": "f00"}, "the spec or the C code of Urteil has changed since; explore again"),
    ],
)
def test_another_search_is_refused(mine: Any, why: str, tmp_path: Path) -> None:
    write(checkpoints(tmp_path / "one"), "abc")
    kept = Checkpoint.read(tmp_path / "one")
    checkpoints(tmp_path / "two", resumed=kept).require(spec="lease")
    with pytest.raises(InputFault, match=why):
        checkpoints(tmp_path / "two", resumed=kept).require(**mine)
