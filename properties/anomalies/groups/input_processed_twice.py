"""Two committed transactions of a pipeline consumed the same input record.

Each of the two transactions committed an offset above the record. So the later transaction should
have read only records at or above the offset that the earlier transaction committed. The pair is
not reported if another commit may have moved the group's offset back between the two transactions.
A failed commit cannot have moved it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.groups.pipelines import Step, rewinds, steps
from properties.anomalies.rendering import render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class InputProcessedTwice:
    group: str
    key: str
    offset: int
    first_op: int
    second_op: int

    @property
    def size(self) -> int:
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return self.first_op, self.second_op


def _consumers(history: History) -> Iterator[tuple[int, list[Step]]]:
    everything = list(steps(history))
    for register in sorted({step.register for step in everything}):
        mine = [step for step in everything if step.register == register]
        for offset in sorted({offset for step in mine for offset in step.consumed}):
            yield offset, [step for step in mine if offset in step.consumed]


def _rewound(history: History, offset: int, first: Step, second: Step) -> bool:
    ended_ns, began_ns = history[second.op].completed_ns or 0, history[first.op].invoked_ns
    return any(
        commit.op not in {first.op, second.op}
        and commit.invoked_ns <= ended_ns
        and commit.completed_ns >= began_ns
        for commit in rewinds(history, first.register, offset)
    )


def inputs_processed_twice(history: History) -> tuple[InputProcessedTwice, ...]:
    return tuple(
        sorted(
            InputProcessedTwice(
                group=first.register[0],
                key=first.register[1],
                offset=offset,
                first_op=first.op,
                second_op=second.op,
            )
            for offset, consumers in _consumers(history)
            for first, second in pairwise(consumers)
            if not _rewound(history, offset, first, second)
        )
    )


def observed(history: History) -> int:
    return len(list(_consumers(history)))


def explain(row: InputProcessedTwice, operations: Mapping[int, Operation]) -> str:
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: the input at offset {row.offset} was consumed by "
            f"operation {row.first_op} and by operation {row.second_op}, and both committed an "
            "offset above the input.",
            f"  first   {render(operations, row.first_op, row.key)}",
            f"  second  {render(operations, row.second_op, row.key)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="input-processed-twice",
    statement="Each input record of a pipeline is consumed by exactly one committed transaction.",
    rule=(
        "Two transactions of a group that ended ok polled the same offset and committed a higher "
        "one, although no other operation that can have taken effect between them committed that "
        "offset or a lower one."
    ),
    explanation=(
        "The first transaction's offsets did not take effect with its output, or a member that had "
        "lost its partition was not fenced (KIP-447), so the output counts the input twice."
    ),
    permits={},
    source="claims: exactly_once_pipeline; KIP-447; redpanda#9571",
    observes="inputs that committed transactions consumed",
    row=InputProcessedTwice,
    find=inputs_processed_twice,
    observed=observed,
    explain=explain,
)
