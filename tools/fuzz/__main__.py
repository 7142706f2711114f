"""Fuzzes a reader of bytes with atheris, guided by coverage.

    pip install atheris
    python -m tools.fuzz frames --seconds 3600       # request frames and record batches
    python -m tools.fuzz histories --seconds 3600    # histories as EDN, NDJSON, Parquet and Avro
    python -m tools.fuzz avro --seconds 3600         # histories as Avro files, and Avro records
    python -m tools.fuzz delta --seconds 3600        # logs of Delta tables
    python -m tools.fuzz iceberg --seconds 3600      # metadata and delete files of Iceberg tables

A reader may refuse the bytes with its documented exception, but must not fail in any other way. Any
other exception ends the run, and so does an abort of the process. The input of the failure is then
written to a file in `--folder`. The run begins with valid inputs. Its result is written to
`benchmarks/results/fuzz-TARGET.json`. atheris is not a dependency of the project, because atheris
has no release for some versions of Python.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tools.fuzz import campaign

# the package whose branches guide the search, and the size of the largest input in bytes
TARGETS: Final[Mapping[str, tuple[str, int]]] = {
    "avro": ("checkers.histories", 4096),
    "delta": ("checkers.histories", 8192),
    "frames": ("reference_impl", 4096),
    "histories": ("checkers.histories", 4096),
    "iceberg": ("checkers.histories", 16384),
}


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--folder", type=Path, help="default: runs/fuzz-TARGET")
    parser.add_argument("--here", action="store_true", help="in this process, without a result")
    options = parser.parse_args(words)
    folder: Path = options.folder or Path(f"runs/fuzz-{options.target}")
    if options.here:
        _fuzz(options.target, folder, options.seconds)
    else:
        call = [sys.executable, "-m", "tools.fuzz", *words, "--here"]
        sys.exit(campaign.run(options.target, folder, call))


def _fuzz(name: str, folder: Path, seconds: int) -> None:
    atheris: Any = importlib.import_module("atheris")
    package, largest = TARGETS[name]
    with atheris.instrument_imports(include=[package]):
        target = importlib.import_module(f"tools.fuzz.{name}")
        valid = [*target.valid_inputs()]
        target.run(valid[0])  # the reader imports some modules late
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(valid):
        (corpus / f"valid-{number}").write_bytes(data)
    arguments = [
        sys.argv[0],
        f"-max_total_time={seconds}",
        f"-max_len={largest}",
        f"-artifact_prefix={folder}/",
        str(corpus),
    ]

    def mutated(data: bytes, limit: int, seed: int) -> bytes:
        base: bytes = atheris.Mutate(of_valid_input(data, valid, seed), limit)
        return base

    atheris.Setup(arguments, target.run, custom_mutator=mutated)
    with contextlib.suppress(KeyboardInterrupt):
        atheris.Fuzz()


def of_valid_input(data: bytes, valid: Sequence[bytes], seed: int) -> bytes:
    """Returns the input to mutate: in half of the cases a valid input, otherwise the fuzzer's
    choice `data`.

    The fuzzer itself drops an input that reaches no new branch of the code. All valid files reach
    the same branches, so it would retain only the first of them.
    """
    return valid[seed // 2 % len(valid)] if seed % 2 else data


if __name__ == "__main__":
    main(sys.argv[1:])
