"""The store of runs loses no run if two processes write it, or if a writer is killed.

If the store's file is deleted, the store is filled again from the run folders.
"""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from checkers.over_time.kept_run import read_run
from checkers.over_time.store import UnusableStore, check_store, opened
from tests.checkers.over_time.written_runs import anomaly, claim, write_run

ADDS = """
import sys
from pathlib import Path
from checkers.over_time.kept_run import read_run
from checkers.over_time.store import opened
for folder in sys.argv[2:]:
    with opened(Path(sys.argv[1])) as store:
        store.add(read_run(Path(folder)))
    print(folder, flush=True)
"""
STOPS_INSIDE_A_WRITE = """
import sys, time
from pathlib import Path
from checkers.over_time import store as module
from checkers.over_time.kept_run import read_run
insert = module.Store._insert
def slowly(self, table, columns, cells):
    insert(self, table, columns, cells)
    if table == "verdict":
        print("inside", flush=True)
        time.sleep(60)
module.Store._insert = slowly
with module.opened(Path(sys.argv[1])) as store:
    store.add(read_run(Path(sys.argv[2])))
"""


def ids(base: Path) -> list[str]:
    with opened(base) as store:
        return [run.id[-4:] for run in store.runs()]


def test_an_added_run_is_read_back_unchanged(tmp_path: Path) -> None:
    write_run(tmp_path, "c3f1", anomaly(), claim(), commit="abc", uncommitted=True, seed=7)
    with opened(tmp_path) as store:
        store.add_missing()
        (run,) = store.runs()
    assert run == read_run(Path(run.folder))
    assert (run.command, run.seed, run.commit, run.uncommitted) == ("analyze", 7, "abc", True)
    assert (run.seconds, run.exit_code) == (2.5, 0)
    assert [one.claim for one in run.verdicts] == ["lost-write", "append_order"]
    assert run.verdicts[0].subject == "runs/*/history · history"


def test_a_run_that_is_added_twice_is_there_once(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "c3f1", anomaly(), claim())
    with opened(tmp_path) as store:
        store.add(read_run(folder))
        store.add(read_run(folder))
        (run,) = store.runs()
    assert len(run.verdicts) == 2


def test_a_lost_store_is_made_again_from_the_run_folders(tmp_path: Path) -> None:
    for name in ("aaaa", "bbbb"):
        write_run(tmp_path, name, anomaly())
    with opened(tmp_path) as store:
        store.add_missing()
        before = store.runs()
    (tmp_path / "runs.sqlite").unlink()
    with opened(tmp_path) as store:
        assert store.runs() == ()
        store.add_missing()
        assert store.runs() == before


def test_a_run_whose_folder_was_deleted_stays(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "c3f1", anomaly())
    with opened(tmp_path) as store:
        store.add_missing()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with opened(tmp_path) as store:
        store.add_missing()
    assert ids(tmp_path) == ["c3f1"]


def test_a_run_that_continued_is_read_again(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "c3f1", anomaly(verdict="holds"), ended=False)
    with opened(tmp_path) as store:
        store.add_missing()
        (before,) = store.runs()
        with (folder / "events.ndjson").open("a") as events:
            events.write(anomaly("duplicate").as_json() + "\n")
        store.add_missing()
        (after,) = store.runs()
    assert (before.counts(), after.counts()) == ("1 holds", "1 violated, 1 holds")
    assert after.exit_code is None


def test_a_folder_that_cannot_be_read_is_left_out_with_the_reason(tmp_path: Path) -> None:
    write_run(tmp_path, "aaaa", anomaly())
    bad = write_run(tmp_path, "bbbb", anomaly())
    (bad / "events.ndjson").write_text('{"v": 1, "event": "run_started"}\n')
    with opened(tmp_path) as store:
        store.add_missing()
        (why,) = store.unread
    assert "events.ndjson, line 1" in why
    assert ids(tmp_path) == ["aaaa"]


def test_two_processes_write_at_once_and_lose_nothing(tmp_path: Path) -> None:
    shares = [
        [str(write_run(tmp_path, f"{who}{n:03}", anomaly(), claim())) for n in range(40)]
        for who in "ab"
    ]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", ADDS, str(tmp_path), *share],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for share in shares
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    with opened(tmp_path) as store:
        runs = store.runs()
    assert len(runs) == 80
    assert all(len(run.verdicts) == 2 for run in runs)


def test_a_write_that_is_killed_is_undone_and_made_up_for(tmp_path: Path) -> None:
    first = write_run(tmp_path, "aaaa", anomaly())
    with opened(tmp_path) as store:
        store.add(read_run(first))
    second = write_run(tmp_path, "bbbb", anomaly(), claim())
    writer = subprocess.Popen(
        [sys.executable, "-c", STOPS_INSIDE_A_WRITE, str(tmp_path), str(second)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "inside\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    assert ids(tmp_path) == ["aaaa"]
    with opened(tmp_path) as store:
        store.add_missing()
        assert [len(run.verdicts) for run in store.runs()] == [1, 2]


def test_a_store_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(UnusableStore, match=r"version 2, this one reads 1.*use that release"):
        check_store(tmp_path)


@pytest.mark.parametrize("damage", ["text", "half", "another database"])
def test_a_damaged_store_is_refused_with_the_next_move(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    if damage == "another database":
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE bookmark (url TEXT)")
        database.close()
    elif damage == "text":
        path.write_text("this is no database " * 100)
    else:
        for n in range(20):
            write_run(tmp_path, f"{n:04}", anomaly())
        with opened(tmp_path) as store:
            store.add_missing()
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UnusableStore, match=r"move runs\.sqlite away"), opened(tmp_path) as store:
        store.runs()


def test_a_missing_store_does_not_stop_a_run(tmp_path: Path) -> None:
    check_store(tmp_path)
    assert list(tmp_path.iterdir()) == []
