"""The fault rules in force, in the order in which they were added.

Each rule that matches a request counts it. The kind of fault determines which of these rules act:

    faults of the cluster, such as crash    the faults of all these rules act
    faults of the request, such as drop     only the fault of the oldest rule acts

A `drop` fault holds the connection of the request silent until the rule is removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from model.faults import InputFault
from reference_impl.wire.faults.rule import ActiveRule, OfRequest, Request, Rule


class UnknownRule(InputFault):
    """Raised if no rule with this number is in force."""


@dataclass(slots=True)
class RulesInForce:
    """The fault rules in force, by number. A rule may act with a probability. `seed` decides on
    which requests such a rule acts.
    """

    seed: int = 0
    _rules: dict[int, ActiveRule] = field(default_factory=dict[int, ActiveRule])
    _added: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __iter__(self) -> Iterator[ActiveRule]:
        return iter([*self._rules.values()])

    def __bool__(self) -> bool:
        return bool(self._rules)

    def add(self, rule: Rule) -> ActiveRule:
        self._added += 1
        active = self._rules[self._added] = ActiveRule(self._added, rule, self.seed)
        return active

    def of_id(self, number: int) -> ActiveRule:
        """Returns the rule with a number. Raises UnknownRule if the rule is not in force."""
        if number not in self._rules:
            known = ", ".join(map(str, self._rules)) or "there are none"
            raise UnknownRule(f"no fault {number} is in force; those in force: {known}")
        return self._rules[number]

    def remove(self, *ended: ActiveRule) -> None:
        for active in ended:
            self._rules.pop(active.id, None)
        self._wake()

    def clear(self) -> None:
        self._rules.clear()
        self._wake()

    async def ends(self, number: int) -> None:
        """Waits until the rule is no longer in force."""
        while number in self._rules:
            await self._changed.wait()

    async def has_acted(self, active: ActiveRule, times: int) -> None:
        """Waits until the rule has acted at least `times` times."""
        while active.acted < times:
            await self._changed.wait()

    @property
    def read_partitions(self) -> bool:
        """True if a rule selects requests by their topics or partitions."""
        return any(one.rule.when and one.rule.when.reads_partitions for one in self)

    def acting_on(self, request: Request, *, applied: bool) -> list[ActiveRule]:
        """Returns the rules that act on a request. Rules whose fault concerns the cluster
        come first. A rule can act only if its own field `applied` equals the argument `applied`.

        `applied` is False before the broker handles the request, and True afterwards. When a rule
        acts for the first time, the rule in its field `then` comes into force.
        """
        of_phase = [one for one in self if one.rule.when and one.rule.when.applied == applied]
        selecting = [one for one in of_phase if one.sees(request)]
        first = next((one for one in selecting if isinstance(one.rule.fault, OfRequest)), None)
        acting: list[ActiveRule] = []
        for one in selecting:
            if isinstance(one.rule.fault, OfRequest) and one is not first:
                one.acted -= 1
                continue
            acting.append(one)
            if one.rule.then is not None and one.acted == 1:
                self.add(one.rule.then.at(request.broker))
        if acting:
            self._wake()
        return sorted(acting, key=lambda one: isinstance(one.rule.fault, OfRequest))

    def _wake(self) -> None:
        self._changed.set()  # wakes every waiter; each looks at the rules again
        self._changed = asyncio.Event()
