"""Builds the page docs/convictions.md from the recorded results of `tools.convictions`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from properties.anomalies.consequences import CONSEQUENCES
from tools.convictions.campaign import defects, unraised
from tools.convictions.cases import Case
from tools.convictions.record import Tally

PAGE: Final = Path(__file__).parents[2] / "docs" / "convictions.md"
TOP: Final = """<!-- Written by tools/convictions: do not edit. -->
# False positives

A false positive is an anomaly that `urteil analyze` reports although no promise was broken, or one
that blames the wrong client. `python -m tools.convictions` looks for them. It records histories in
the simulation: clean ones, ones with a planted fault, and ones of a broker with a seeded bug. Each
history is analyzed. A reported anomaly must be an effect of the fault or the bug, or follow from
such an effect by the table of consequences below. Any other one is a defect of the analysis. A
broken assumption is a defect of the workload. Without a bug, a cluster that does not recover (*no
progress*) is a defect of the simulation.

- A *clean* history has no fault. A *fault* history has one crash, cut link, lost disk or lost
  message. In a *network* history, messages are delayed, lost, doubled or reordered. No anomaly may
  be reported for these, with one exception. A leader that is isolated from the other brokers, but
  not from clients, may return an old log end (`stale-end-offset`) until it learns of its successor.
  Kafka does the same.
- A *bug* history is of a broker with a seeded bug. In addition, two faults of brokers and links are
  drawn, or requests are late (below).
- There are three workloads for all of these. *publish* has two idempotent producers and a reader.
  *transactions* has two transactional producers, and *pipeline* has a group that consumes and
  produces in transactions.
- The workloads *late-ends*, *late-markers* and *late-records* delay requests to end a transaction,
  markers, and records. They are only for bugs that random faults reveal too rarely. A *control*
  history has the late requests and no bug, and must show no anomaly.
- The clients use transaction version 2. For `late-produce-accepted` they use version 1, as in the
  releases that had the bug. In version 2, a leader that skips the verification of a batch never
  adds its partition to the transaction, so no transaction would end and a group would wait for its
  offsets without end.

`python -m tools.convictions --case CASE --seed N` prints the report of one history.
"""
FOOT: Final = """
## What the campaign does not try

The histories are of the simulated broker and its clients, not of real ones. If no workload
exercises a bug, no anomaly appears; this does not show that the analysis would find it. The names
of the anomalies decide if one is explained, not their rows. Without a bug, only one fault is
planted at a time.
"""


def page(every: Sequence[Case], tallies: Mapping[str, Tally]) -> str:
    """Returns the page: the false positives, and the anomalies of each seeded bug."""
    return "\n".join((TOP, *_lines(every, tallies), FOOT)).rstrip() + "\n"


def _lines(every: Sequence[Case], tallies: Mapping[str, Tally]) -> Iterator[str]:
    done = [(case, tallies[case.name]) for case in every if case.name in tallies]
    yield "| | histories | with an anomaly | no verdict | unexplained |"
    yield "|---|---|---|---|---|"
    for kind in ("clean", "fault", "network", "control", "bug"):
        yield _total(kind, [(case, tally) for case, tally in done if case.kind == kind])
    yield _total("all", done)
    yield ""
    yield "## Defects"
    yield ""
    yield from _defects(every, tallies)
    yield "## Anomalies of each seeded bug"
    yield ""
    yield "| bug | histories | anomalies, each with its number of histories |"
    yield "|---|---|---|"
    yield from _bugs(done)
    yield ""
    yield "## Promised anomalies that no history shows"
    yield ""
    yield "Each bug can cause these anomalies, by its row in `reference_impl/node/seeded_bugs.py`."
    yield "The row names the suites and transcripts that find the bug. No history here shows them."
    yield ""
    yield "| bug | histories | anomalies |"
    yield "|---|---|---|"
    for bug in unraised(every, tallies):
        yield f"| {bug.bug} | {bug.histories:,} | {', '.join(bug.anomalies)} |"
    yield ""
    yield "## Consequences"
    yield ""
    yield "| anomaly | may follow from | because |"
    yield "|---|---|---|"
    for one in sorted(CONSEQUENCES, key=lambda it: (it.anomaly, it.cause)):
        yield f"| {one.anomaly} | {one.cause} | {one.because} |"


def _total(name: str, rows: Sequence[tuple[Case, Tally]]) -> str:
    verdicts: Counter[str] = Counter()
    for _, tally in rows:
        verdicts.update(tally.verdicts)
    histories = sum(tally.histories for _, tally in rows)
    raised = verdicts["violated"]
    silent = histories - raised - verdicts["holds"]
    unexplained = sum(
        count
        for case, tally in rows
        for anomaly, count in tally.raised.items()
        if anomaly not in case.explained
    )
    return f"| {name} | {histories:,} | {raised:,} | {silent:,} | {unexplained:,} |"


def _defects(every: Iterable[Case], tallies: Mapping[str, Tally]) -> Iterator[str]:
    found = list(defects(every, tallies))
    if not found:
        yield "None is known."
    for one in found:
        yield (
            f"- `{one.case.name}` shows {one.symptom} in {one.histories:,} histories, first at "
            f"seed {one.first_seed}."
        )
    yield ""


def _bugs(done: Iterable[tuple[Case, Tally]]) -> Iterator[str]:
    histories: Counter[str] = Counter()
    raised: dict[str, Counter[str]] = {}
    for case, tally in done:
        if case.kind == "bug":
            histories[case.planted] += tally.histories
            raised.setdefault(case.planted, Counter()).update(tally.raised)
    for bug, names in raised.items():
        most_first = sorted(names.items(), key=lambda it: (-it[1], it[0]))
        shown = ", ".join(f"{name} {count:,}" for name, count in most_first)
        yield f"| {bug} | {histories[bug]:,} | {shown or 'nothing'} |"
