"""The settings with which a broker is started, under Kafka's names: `group.min.session.timeout.ms`.

    started_with(["group.consumer.heartbeat.interval.ms=100"])

Only settings with whole numbers from 1 on can be set. A name without `=` or an unknown name is
refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from model.faults import InputFault
from reference_impl.node.timeouts import Timeouts
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.requests.configs.broker_configs import OF_TIMEOUTS

LARGEST: Final = 2**31 - 1


def started_with(texts: Iterable[str], timeouts: Timeouts = SERVED) -> Timeouts:
    """Returns the timeouts with the given settings, each a text NAME=VALUE; the last one wins.

    Raises InputFault for an unknown name or a value that is no number in the range.
    """
    found = dict[str, int]()
    for given in texts:
        name, _, value = given.partition("=")
        if name not in OF_TIMEOUTS:
            near = ", ".join(get_close_matches(name, OF_TIMEOUTS, n=3, cutoff=0.0))
            raise InputFault(
                f"--broker-config {given}: a broker cannot start with {name or 'no name'!r};"
                f" the nearest settings are {near}"
            )
        if not value.isascii() or not value.isdecimal() or not 0 < int(value) <= LARGEST:
            unit = " of milliseconds" if name.endswith(".ms") else ""
            raise InputFault(
                f"--broker-config {given}: the value must be a number{unit}, 1 to {LARGEST}"
            )
        found[OF_TIMEOUTS[name][0]] = int(value)
    try:
        return replace(timeouts, **found)
    except ValueError as fault:
        raise InputFault(f"--broker-config: {str(fault).partition(':')[0]}") from fault
