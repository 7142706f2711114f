"""Stores the results of the tests on the code without a mutant, outside git in `build/mutants`.

For each test file, one file has the CPU time of each test, and the functions that each quick test
calls. Its name is a digest of the test file, the product and the modules that tests import. So a
change of any of these files causes a new record.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tools.mutants.trying import ROOT, Verdict

CACHE: Final = ROOT / "build" / "mutants"
PRODUCT: Final = ("model", "reference_impl", "properties", "checkers")


class NotGreen(Exception):
    """Raised if the tests fail without a mutant, because they then cannot judge mutants."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The CPU time of each test, and the functions that tests call.

    `calls` has the called functions of `PRODUCT` for each test that takes at most a second.
    """

    cpu_s: Mapping[str, float]
    calls: Mapping[str, Sequence[str]]

    def __or__(self, other: Recorded) -> Recorded:
        return Recorded({**self.cpu_s, **other.cpu_s}, {**self.calls, **other.calls})


class Cache:
    def __init__(self, tree: Path, folder: Path = CACHE) -> None:
        self.tree, self.folder = tree, folder
        sources = {file for name in PRODUCT for file in (tree / name).rglob("*.py")}
        sources |= {it for it in (tree / "tests").rglob("*.py") if it.name[:5] != "test_"}
        self._digest = hashlib.sha256()
        for file in sorted(sources):
            self._digest.update(f"{file.relative_to(tree)}\0".encode() + file.read_bytes())

    def read(self, tests: Iterable[str]) -> Recorded:
        """Returns the stored results of the files that contain `tests`. A file without stored
        results adds nothing.
        """
        all_of_them = Recorded({}, {})
        for file in map(self._kept, {_file(test) for test in tests}):
            if file.exists():
                all_of_them |= Recorded(**json.loads(file.read_text(encoding="utf-8")))
        return all_of_them

    def add(self, verdict: Verdict) -> None:
        """A verdict names the tests that ran. Stores the CPU time of each test, and the functions
        that it called.

        Raises NotGreen if a test failed, or if no test ran.
        """
        if verdict.outcome != "survived" or not verdict.cpu_s:
            raise NotGreen(f"{verdict.test or 'no test ran'}: {verdict.error}")
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in {_file(test) for test in verdict.cpu_s}:
            cpu_s = {test: used for test, used in verdict.cpu_s.items() if _file(test) == file}
            calls = {test: verdict.calls[test] for test in cpu_s if test in verdict.calls}
            kept = self._kept(file)
            partial = kept.with_suffix(f".{os.getpid()}")  # other processes may read and write
            text = json.dumps(asdict(self.read([file]) | Recorded(cpu_s, calls)))
            partial.write_text(text, encoding="utf-8")
            partial.replace(kept)

    def _kept(self, file: str) -> Path:
        digest = self._digest.copy()
        digest.update(f"{file}\0".encode() + (self.tree / file).read_bytes())
        return self.folder / f"{digest.hexdigest()[:24]}.json"


def _file(test: str) -> str:
    return test.partition("::")[0]
