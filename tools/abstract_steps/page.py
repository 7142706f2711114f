"""Builds the page docs/abstract-steps.md: a table for each abstract spec, with a row for each
action.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = ROOT / "benchmarks" / "results" / "abstract_steps.json"
PAGE: Final = ROOT / "docs" / "abstract-steps.md"
SOURCES: Final = ("explored", "simulated", "real")

Record = dict[str, dict[str, dict[str, int]]]  # spec -> action -> source -> how often

TOP: Final = """<!-- Written by tools/abstract_steps: do not edit. -->
# Steps of the proved specs

A proof speaks of an abstract spec. This page shows how the abstract specs are linked to what runs.
`python -m tools.abstract_steps` counts how often each action is taken:

- *explored*: by steps of the detailed spec, at small constants. A step may be several actions. If
  there are too many states, random walks take the place of the exploration.
- *simulated*: by the reference broker, in simulations with faults.
- *real*: by Apache Kafka, in the log lines that the tests keep.

In all three, a step that no action explains would be a defect, and a test would fail. An action
that nothing takes is a defect too, unless a reason is given. A dash means that nothing links the
spec to this source.
"""

# Actions that nothing takes, with the reason.
NEVER: Final[Mapping[tuple[str, str], str]] = {
    **{
        ("idempotence-abstract with-restarts", action): "the fixed snapshots have every batch that "
        "a client may send again, so a leader that restarts is like one that changes, and nothing "
        "is refused; the version below takes this action"
        for action in ("refuse", "renumber", "restart")
    },
    **{
        ("reassignment-abstract changed-min-isr", action): "the mapping of this version has no "
        "reassignment; `reassignment-abstract` takes this action"
        for action in (
            "add_replica",
            "remove_replica",
            "replace_replica",
            "complete_reassignment",
            "finish_adding",
            "cancel_reassignment",
            "cancel_removal",
            "delete_replica",
        )
    },
    ("coordinator-abstract kip-939", "fence"): "every transaction of `transactions kip-939` takes "
    "part in two-phase commit; the version `kip-1228` takes this action",
    ("coordinator-abstract kip-939", "enable_two_phase"): "it comes before the first step of "
    "`transactions kip-939`",
    ("transactions-abstract topic-ids", "fence"): "an abort by the coordinator is mapped to "
    "`end_abort`, which has the same effect",
    ("transactions-abstract topic-ids", "write_marker_again"): "a partition that has written a "
    "marker does not change when the marker is repeated",
    ("read-committed-abstract", "append_next"): "a transaction of the spec `transactions` has one "
    "record in a partition",
    ("read-committed-abstract", "append_plain"): "every record of the spec `transactions` is in a "
    "transaction",
    ("read-committed-abstract", "restart"): "no leader of the spec `transactions` restarts",
    ("pipeline-abstract", "init_transactions"): "a consumer of the spec `group-offsets` has one "
    "producer from the start",
}


def kept() -> Record:
    record: Record = json.loads(KEPT.read_text(encoding="utf-8"))
    return record


def never_taken(record: Record) -> list[tuple[str, str]]:
    """Returns the (spec, action) pairs that are never taken and have no reason in `NEVER`."""
    return [
        (spec, action)
        for spec, actions in record.items()
        for action, counts in actions.items()
        if not any(counts.values()) and (spec, action) not in NEVER
    ]


def page(record: Record) -> str:
    return "\n".join((TOP, *_tables(record))).rstrip() + "\n"


def _tables(record: Record) -> Iterator[str]:
    for spec, actions in record.items():
        yield f"## {spec}"
        yield ""
        yield "| action | explored | simulated | real |"
        yield "|---|---|---|---|"
        for action, counts in actions.items():
            cells = (f"{counts[source]:,}" if source in counts else "–" for source in SOURCES)
            yield f"| `{action}` | {' | '.join(cells)} |"
        yield ""
        reasons = [(action, why) for (of, action), why in NEVER.items() if of == spec]
        if reasons:
            yield "Nothing takes these actions:"
            yield ""
            yield from (f"- `{action}`: {why}" for action, why in reasons)
            yield ""
