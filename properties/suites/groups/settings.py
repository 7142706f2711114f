"""The settings of the suite `groups`, by name. A setting is the configuration of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from properties.suites.groups.members import Worker, by_hand, classic, consumer
from reference_impl.node.settings import BrokerSettings
from reference_impl.simulation.cluster import QUICK
from reference_impl.simulation.programs import Program

TIMEOUTS: Final = replace(QUICK, member_session_ms=600, member_heartbeat_ms=50)
SHORT_OFFSET_RETENTION: Final = replace(TIMEOUTS, offsets_retention_ms=400, offsets_check_ms=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A configuration of a run: the group protocol that the members use, and the timeouts of the
    coordinator.
    """

    condition: str
    runs: Callable[[Worker], Program]
    broker_settings: BrokerSettings = TIMEOUTS


SETTINGS: Final = {
    "classic": Setting(condition="JoinGroup and SyncGroup, eager rebalances", runs=classic),
    "KIP-848": Setting(
        condition="the coordinator assigns, members revoke what moves", runs=consumer
    ),
    "by hand": Setting(condition="each consumer assigns itself all partitions", runs=by_hand),
    "KIP-848, soon forgotten": Setting(
        condition="offsets expire 400 ms after the last member has left",
        runs=consumer,
        broker_settings=SHORT_OFFSET_RETENTION,
    ),
}
