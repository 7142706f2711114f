"""Generates a sequence of requests by random choices. All choices depend on one seed."""

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
        """Returns a random version of the request type `api`. The version is at least `first`, at
        most `last`, and supported by Kafka.
        """
        known = VERSIONS[api]
        return self.random.randint(max(first, known.first_answered), min(last, known.last))

    def one(self, values: Sequence[T]) -> T:
        return self.random.choice(values)

    def case(self, *cases: Case) -> Case:
        """Returns one of the cases, chosen at random. A case has a note on the purpose of a
        request, and the arguments of the request.
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
