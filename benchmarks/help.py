"""Compares the time of `urteil --help` with the time of a Python process that only imports
click.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.pairs import Pairing, paired

URTEIL = str(Path(sys.executable).with_name("urteil"))


def run() -> list[Pairing]:
    return [
        paired(
            ("urteil --help", lambda: _call(URTEIL, "--help")),
            ("python -c 'import click'", lambda: _call(sys.executable, "-c", "import click")),
            runs=15,
        )
    ]


def _call(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
