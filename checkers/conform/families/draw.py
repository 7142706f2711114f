"""The random choices of a sequence of requests, all from one seed, and the resulting steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from checkers.conform.steps import Step
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS

T = TypeVar("T")
Weighted = Sequence[tuple[int, T]]
Case = tuple[str, Any]  # the note of a request, and its arguments


@dataclass(slots=True)
class Draw:
    random: Random
    steps: list[Step] = field(default_factory=list[Step])

    def add(self, *steps: Step) -> None:
        self.steps += steps

    def version(self, api: Api, first: int = 0, last: int = 99) -> int:
        """Returns a random version from `first` to `last` that Kafka supports, both included."""
        known = VERSIONS[api]
        return self.random.randint(max(first, known.first_answered), min(last, known.last))

    def one(self, values: Sequence[T]) -> T:
        return self.random.choice(values)

    def case(self, *cases: Case) -> Case:
        """Returns a random one of the cases: the arguments of a request, and a note on its
        purpose.
        """
        return self.random.choice(cases)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def weighted(self, rows: Weighted[T]) -> T:
        weights, values = [weight for weight, _ in rows], [value for _, value in rows]
        return self.random.choices(values, weights)[0]

    def repeat(self, times: int, rows: Weighted[Callable[[], None]]) -> None:
        for _ in range(times):
            self.weighted(rows)()
