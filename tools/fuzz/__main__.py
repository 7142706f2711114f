"""Fuzzes a reader of bytes with atheris, guided by coverage.

    pip install atheris
    python -m tools.fuzz frames --seconds 3600       # request frames and record batches
    python -m tools.fuzz histories --seconds 3600    # histories as EDN, NDJSON and Parquet

A reader may refuse the bytes, but must not fail in any other way. Another exception, and an abort
of the process, ends the run; the input is then written to a file in `--folder`. The run begins with
valid inputs. atheris is no dependency of the project: it has no release for some versions of
Python.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

LARGEST_INPUT: Final = 4096
TARGETS: Final[Mapping[str, str]] = {  # the package whose branches guide the search
    "frames": "reference_impl",
    "histories": "checkers.histories",
}


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--folder", type=Path, help="default: runs/fuzz-TARGET")
    options = parser.parse_args(words)
    folder: Path = options.folder or Path(f"runs/fuzz-{options.target}")
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=[TARGETS[options.target]]):
        target = importlib.import_module(f"tools.fuzz.{options.target}")
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(target.valid_inputs()):
        (corpus / f"valid-{number}").write_bytes(data)
    arguments = [
        sys.argv[0],
        f"-max_total_time={options.seconds}",
        f"-max_len={LARGEST_INPUT}",
        f"-artifact_prefix={folder}/",
        str(corpus),
    ]
    atheris.Setup(arguments, target.run)
    with contextlib.suppress(KeyboardInterrupt):
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
