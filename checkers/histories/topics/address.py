"""The address of a Kafka topic whose records are the operations of a history.

    kafka://HOST:PORT/TOPIC
    kafka://HOST:PORT,HOST:PORT/TOPIC

An address is printed and kept in run folders, so credentials are in the client configuration file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from model.faults import InputFault

SCHEME: Final = "kafka://"
_FORM: Final = "kafka://HOST:PORT/TOPIC, or kafka://HOST:PORT,HOST:PORT/TOPIC"
_BROKER: Final = re.compile(r"(?:[^\s:/@\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True)
class Topic:
    bootstrap_servers: str
    name: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.bootstrap_servers}/{self.name}"


def topic(text: str) -> Topic:
    """Returns the topic at an address that begins with `kafka://`.

    Raises InputFault for an address of another form, or with credentials.

    >>> topic("kafka://localhost:9092/operations").name
    'operations'
    """
    brokers, _, name = text.removeprefix(SCHEME).partition("/")
    if "@" in brokers:
        raise InputFault(
            f"{SCHEME}…@{brokers.rpartition('@')[2]}/{name}: credentials must not be part of an "
            "address, which is printed and kept; write them to a file for --client-config"
        )
    if not all(map(_BROKER.fullmatch, brokers.split(","))):
        raise InputFault(f"{text}: not the address of a topic; write {_FORM}")
    if not _TOPIC.fullmatch(name):
        raise InputFault(f"{text}: {name!r} is no name of a topic; write {_FORM}")
    return Topic(brokers, name)
