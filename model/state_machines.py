"""The state machines inside the specs, as tables: the actions that lead from one state to another.

A test explores each spec and compares the transitions that it finds with this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Step = tuple[str, str, str]  # state, action, next state


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMachine:
    """The states and transitions of one object of a spec, such as a batch at the client."""

    of: str
    steps: tuple[Step, ...]

    def diagram(self) -> str:
        """Returns a text drawing: one line for each transition, grouped by starting state."""
        width = max(len(state) for state, _, _ in self.steps)
        actions = max(len(action) for _, action, _ in self.steps)
        lines, last = [self.of], ""
        for state, action, following in self.steps:
            name = state if state != last else ""
            arrow = "-" * (actions - len(action) + 2)
            lines.append(f"  {name:<{width}}  --{action}{arrow}> {following}")
            last = state
        return "\n".join(lines)


STATE_MACHINES: Final[Mapping[str, StateMachine]] = {  # by the name of the spec
    "transactions": StateMachine(
        of="the transactional id at its coordinator",
        steps=(
            ("DEAD", "init_producer", "EMPTY"),
            ("EMPTY", "add_partition", "ONGOING"),
            ("EMPTY", "end", "PREPARE"),
            ("EMPTY", "expire", "DEAD"),
            ("ONGOING", "end", "PREPARE"),
            ("ONGOING", "fence", "PREPARE"),
            ("PREPARE", "complete", "COMPLETE"),
            ("COMPLETE", "add_partition", "ONGOING"),
            ("COMPLETE", "end", "PREPARE"),
            ("COMPLETE", "init_producer", "EMPTY"),
            ("COMPLETE", "expire", "DEAD"),
        ),
    ),
    "idempotence": StateMachine(
        of="a batch at the client",
        steps=(
            ("UNSENT", "send", "IN_FLIGHT"),
            ("IN_FLIGHT", "acknowledge", "ACKED"),
            ("IN_FLIGHT", "give_up", "FAILED"),
        ),
    ),
    "classic-group": StateMachine(
        of="the group at its coordinator",
        steps=(
            ("EMPTY", "join", "PREPARING_REBALANCE"),
            ("PREPARING_REBALANCE", "complete_join", "COMPLETING_REBALANCE"),
            ("PREPARING_REBALANCE", "become_empty", "EMPTY"),
            ("PREPARING_REBALANCE", "fail_over", "EMPTY"),
            ("PREPARING_REBALANCE", "fail_over", "STABLE"),
            ("COMPLETING_REBALANCE", "assign", "STABLE"),
            ("COMPLETING_REBALANCE", "join", "PREPARING_REBALANCE"),
            ("COMPLETING_REBALANCE", "miss", "PREPARING_REBALANCE"),
            ("COMPLETING_REBALANCE", "miss_assignment", "PREPARING_REBALANCE"),
            ("COMPLETING_REBALANCE", "fail_over", "EMPTY"),
            ("COMPLETING_REBALANCE", "fail_over", "STABLE"),
            ("STABLE", "join", "PREPARING_REBALANCE"),
            ("STABLE", "miss", "PREPARING_REBALANCE"),
        ),
    ),
}
