"""Fuzzes the decoding of request frames and of record batches with atheris, guided by coverage.

    pip install atheris
    python -m tools.fuzz_frames --seconds 3600

The decoder may refuse a frame as malformed, but must not fail in any other way. If a leader accepts
bytes as a batch, they must be decodable. Any other exception, and an abort of the process, ends the
run; the input is then written to a file in `--folder`. The run begins with a valid request of every
API and version. atheris is no dependency of the project: it has no release for some versions of
Python.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import random
import sys
from pathlib import Path
from typing import Any, Final

LARGEST_INPUT: Final = 4096


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz_frames")
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--folder", type=Path, default=Path("runs/fuzz-frames"))
    options = parser.parse_args(words)
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["reference_impl"]):
        target = importlib.import_module("tools.fuzz_targets")
    corpus: Path = options.folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate((*target.frames(random.Random(1)), *target.batches())):
        (corpus / f"valid-{number}").write_bytes(data)
    arguments = [
        sys.argv[0],
        f"-max_total_time={options.seconds}",
        f"-max_len={LARGEST_INPUT}",
        f"-artifact_prefix={options.folder}/",
        str(corpus),
    ]
    atheris.Setup(arguments, target.run)
    with contextlib.suppress(KeyboardInterrupt):
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
