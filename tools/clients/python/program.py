"""Runs one scenario of a Python client, and prints the result as one line of JSON.

    python -m tools.clients.python.confluent SCENARIO SERVERS TOPIC RECORDS

The programs in other languages have the same arguments, and print a line in the same format.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple


class Args(NamedTuple):
    servers: str
    topic: str
    records: int


class NotOffered(Exception):
    """Raised if the client cannot run this scenario. The message states the reason."""


class Unexpected(Exception):
    """Raised if the client or the broker behaves differently from Kafka."""


Scenario = Callable[[Args], str]  # returns a note, such as the codecs tried


def expect(condition: object, why: object) -> None:
    if not condition:
        raise Unexpected(str(why))


def expect_once(found: Iterable[str], wanted: Iterable[str]) -> None:
    """Raises Unexpected unless each wanted value was found exactly once."""
    seen, expected = list(found), set(wanted)
    missing, foreign = expected - set(seen), set(seen) - expected
    twice = len(seen) - len(set(seen))
    if missing or foreign or twice:
        raise Unexpected(
            f"{len(missing)} values missing {sorted(missing)[:3]}, {twice} twice,"
            f" {len(foreign)} not written {sorted(foreign)[:3]}"
        )


def await_until(condition: Callable[[], object], why: str, within_s: float = 20) -> None:
    """Waits until the condition is true. Raises Unexpected after `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while not condition():
        expect(time.monotonic() < deadline, f"after {within_s} s: {why}")
        time.sleep(0.05)


def run(scenarios: Mapping[str, Scenario]) -> None:
    """Runs the scenario that the command line names, and prints its result as JSON.

    The outcome is `not offered` if `scenarios` has no such scenario, and `failed` if the scenario
    raises an error.
    """
    name, servers, topic, records = sys.argv[1:]
    try:
        if name not in scenarios:
            raise NotOffered("the client has no API for it")
        result = {"outcome": "passed", "note": scenarios[name](Args(servers, topic, int(records)))}
    except NotOffered as reason:
        result = {"outcome": "not offered", "note": str(reason)}
    except Exception as error:  # the driver reports it in the table
        traceback.print_exc()
        result = {"outcome": "failed", "note": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)  # noqa: T201 - the result of the program
