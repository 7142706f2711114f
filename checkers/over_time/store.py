"""The store of runs: the file `runs.sqlite`, in the same folder as the run folders.

Each run adds itself to the store when it ends. Runs that are missing are added from their folders
when the store is read. So if the store is lost, it can be rebuilt as long as the run folders exist.
If a run folder is deleted, its run remains in the store.

Simplified: The log of SQLite works only on a local file system, so machines must not share a store
on a network file system.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from checkers.over_time.kept_run import KeptRun, KeptVerdict, read_run, run_folders
from checkers.report.saved_run import NoRun
from checkers.run_files import EVENTS, STORE
from checkers.saved_events import UnreadableEvents
from model.faults import InputFault

VERSION: Final = 1
BUSY_S: Final = 30.0  # a writer waits so long for another one
_APPLICATION: Final = 0x55525445  # URTE: PRAGMA application_id
_SCHEMA: Final = """
CREATE TABLE run (
  id TEXT PRIMARY KEY, folder TEXT NOT NULL, started TEXT NOT NULL, command TEXT NOT NULL,
  command_line TEXT NOT NULL, seed INTEGER NOT NULL, urteil TEXT NOT NULL, "commit" TEXT,
  uncommitted INTEGER NOT NULL, system TEXT, seconds REAL, exit_code INTEGER,
  events_bytes INTEGER NOT NULL);
CREATE TABLE verdict (
  run TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE, number INTEGER NOT NULL,
  claim TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, spec TEXT, variant TEXT,
  verdict TEXT NOT NULL, judged TEXT NOT NULL, known INTEGER NOT NULL, count INTEGER,
  seconds REAL, system TEXT, fingerprints TEXT NOT NULL, PRIMARY KEY (run, number));
CREATE INDEX verdict_by_claim ON verdict (claim);
"""
_RUN: Final = tuple(one.name for one in fields(KeptRun) if one.name != "verdicts")
_VERDICT: Final = tuple(one.name for one in fields(KeptVerdict))


class UnusableStore(InputFault):
    """Raised if the store is damaged, if it cannot be opened, or if a newer release wrote it."""


@dataclass(slots=True)
class Store:
    base: Path
    _database: sqlite3.Connection
    unread: list[str] = field(default_factory=list[str])  # why a run folder was left out

    def add(self, run: KeptRun) -> None:
        """Adds the run and its verdicts in one transaction. An earlier entry of the run is
        replaced.
        """
        with self._writing():
            self._database.execute("DELETE FROM run WHERE id = ?", (run.id,))
            cells = [getattr(run, name) for name in _RUN]
            self._insert("run", _RUN, cells)
            for number, verdict in enumerate(run.verdicts):
                row = asdict(verdict)
                row["fingerprints"] = json.dumps(row["fingerprints"])
                self._insert(
                    "verdict", ("run", "number", *_VERDICT), [run.id, number, *row.values()]
                )

    def _insert(self, table: str, columns: tuple[str, ...], cells: list[Any]) -> None:
        names = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join("?" * len(columns))
        self._database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", cells)

    @contextmanager
    def _writing(self) -> Generator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def add_missing(self, *, left_out: str = "") -> None:
        """Adds each run whose folder exists but which is not in the store. The run with the name
        `left_out` is not added. A run is added again if its file of events has another size than
        when the run was added.
        """
        known = dict(self._database.execute("SELECT id, events_bytes FROM run"))
        for folder in run_folders(self.base):
            events = folder / EVENTS
            size = events.stat().st_size if events.exists() else 0
            if folder.name != left_out and known.get(folder.name) != size:
                try:
                    self.add(read_run(folder))
                except (NoRun, UnreadableEvents) as fault:
                    self.unread.append(str(fault))

    def runs(self) -> tuple[KeptRun, ...]:
        verdicts: dict[str, list[KeptVerdict]] = {}
        for run, _, *cells in self._rows("verdict", ("run", "number", *_VERDICT), "run, number"):
            row = dict(zip(_VERDICT, cells, strict=True))
            row |= {"known": bool(row["known"]), "fingerprints": json.loads(row["fingerprints"])}
            verdicts.setdefault(run, []).append(KeptVerdict(**row))
        made: list[KeptRun] = []
        for row_of_run in self._rows("run", _RUN, "started, id"):
            run_cells = dict(zip(_RUN, row_of_run, strict=True))
            run_cells["uncommitted"] = bool(run_cells["uncommitted"])
            kept = tuple(verdicts.get(run_cells["id"], ()))
            made.append(KeptRun(**run_cells, verdicts=kept))
        return tuple(made)

    def _rows(self, table: str, columns: tuple[str, ...], order: str) -> Iterator[tuple[Any, ...]]:
        names = ", ".join(f'"{name}"' for name in columns)
        yield from self._database.execute(f"SELECT {names} FROM {table} ORDER BY {order}")


@contextmanager
def opened(base: Path) -> Generator[Store]:
    """Opens the store in the folder `base`. The folder and the store are created if they do not
    exist.

    Raises UnusableStore if the store is damaged, if it is locked for 30 seconds, or if a newer
    release wrote it.
    """
    path = base / STORE
    try:
        base.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as database:
            _prepared(database, path)
            yield Store(base, database)
    except (sqlite3.Error, OSError) as why:
        raise UnusableStore(f"{path}: {why}; {_next_move(path)}") from why


def check_store(base: Path) -> None:
    """Raises UnusableStore if the store exists but this release cannot use it."""
    if (base / STORE).exists():
        with opened(base):
            pass


def _prepared(database: sqlite3.Connection, path: Path) -> None:
    version = _version(database, path)
    if version < VERSION:
        _until_free(lambda: database.execute("PRAGMA journal_mode = WAL"))
        database.execute("BEGIN IMMEDIATE")
        if _version(database, path) < VERSION:  # another process may have made it meanwhile
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute("COMMIT")
    database.execute("PRAGMA foreign_keys = ON")
    database.execute("PRAGMA synchronous = NORMAL")


def _until_free(change: Any) -> None:
    # SQLite does not wait for other processes when the journal mode changes.
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            change()
        except sqlite3.OperationalError as why:
            if "locked" not in str(why) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _version(database: sqlite3.Connection, path: Path) -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version > VERSION:
        raise UnusableStore(
            f"{path}: a newer release wrote this store (version {version}, this one reads "
            f"{VERSION}); use that release, or {_next_move(path)}"
        )
    if tables and application != _APPLICATION:
        raise UnusableStore(f"{path}: not a store of runs; {_next_move(path)}")
    return int(version)


def _next_move(path: Path) -> str:
    return f"move {path.name} away: `urteil runs` makes it again from the run folders"
