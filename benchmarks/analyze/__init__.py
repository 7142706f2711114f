"""The history analysis: synthetic histories, peers that check the same, and what each costs."""

from __future__ import annotations

from benchmarks.pairs import Pairing


def run() -> list[Pairing]:
    """What `make bench` measures of the analysis."""
    from benchmarks.analyze import first_verdict

    return first_verdict.run()
