"""Parses the address of a Kafka topic whose records are the operations of a history.

The address has one or more brokers, and the name of the topic:

    kafka://HOST:PORT/TOPIC
    kafka://HOST:PORT,HOST:PORT/TOPIC

An address is printed and stored in run folders, so it must not contain credentials. The credentials
are in the client configuration file.
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

    Raises InputFault if the address has another form or contains credentials.

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
