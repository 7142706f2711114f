"""Compares the history analysis with other query engines that run the same checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.pairs import Figure, Pairing

if TYPE_CHECKING:
    from benchmarks.analyze.measuring import Cost

ROWS = 1_000_000


def run() -> list[Pairing]:
    """Returns the costs of the analysis of a large history, and the times to a verdict on a small
    history, each compared with a peer or a baseline.
    """
    from benchmarks.analyze import first_verdict
    from benchmarks.analyze.measuring import OURS, PEERS, measured

    found = [cost for keys in (256, 1) for cost in measured(ROWS, keys)]
    assert not any(cost.wrong for cost in found), found
    pairings = [
        _pairing(ours, peer)
        for ours in found
        for peer in found
        if ours.way in OURS and peer.way in PEERS
        if (ours.check, ours.partitions) == (peer.check, peer.partitions)
    ]
    return [*pairings, *first_verdict.run()]


def _pairing(ours: Cost, peer: Cost) -> Pairing:
    label = f"{ours.check}, {ours.rows:,} rows, partitions: {ours.partitions}, CPU s"
    return Pairing(
        ours=f"{ours.way}, {label}",
        baseline=peer.way,
        runs=1,
        ours_s=Figure.of([ours.cpu_s]),
        baseline_s=Figure.of([peer.cpu_s]),
        ratio=Figure.of([ours.cpu_s / peer.cpu_s]),
    )
