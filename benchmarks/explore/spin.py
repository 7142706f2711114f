"""Runs SPIN on the Promela text of a spec, with three ways to store states.

A state is stored in full, compressed (`-DCOLLAPSE`), or as a hash (`-DHC4`). All runs explore all
interleavings (`-DNOREDUCE`), check only safety, and begin with a large enough hash table.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks.explore.contender import JUDGED, Contender
from benchmarks.explore.promela import promela
from checkers.explicit.instance import Instance
from model.language import Spec

FLAGS = ("-O2", "-w", "-DSAFETY", "-DNOREDUCE", "-DNOBOUNDCHECK", "-DMEMLIM=16000")
SEARCH = ("-E", "-b", "-m20000000", "-w25")  # ignore deadlocks; a full stack is an error
SETTINGS: tuple[tuple[str, ...], ...] = ((), ("-DCOLLAPSE",), ("-DHC4",))
# -DMA=n, a minimized automaton, is ten times slower than the slowest of these


def built(spec: Spec, flags: tuple[str, ...], folder: Path) -> Contender:
    """Compiles SPIN's verifier for a spec, with additional compiler flags, and returns its
    command.
    """
    here = folder / ("".join(flags) or "plain")
    here.mkdir()
    claims = [claim for claim in spec.claims if claim.name in JUDGED]
    (here / "model.pml").write_text(promela(Instance.of(spec), claims))
    for words in (["spin", "-a", "model.pml"], ["cc", *FLAGS, *flags, "-o", "pan", "pan.c"]):
        subprocess.run(words, cwd=here, check=True, capture_output=True)
    return Contender(
        name=" ".join(["SPIN", *FLAGS, *flags, *SEARCH]),
        command=["./pan", *SEARCH],
        folder=here,
        exact="-DHC4" not in flags,
    )


def version() -> str:
    return _first_line("spin", "-V")


def compiler() -> str:
    return _first_line("cc", "--version")


def _first_line(*words: str) -> str:
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[0]
