"""The families of request sequences, such as `transactions`. Each family has a function that
generates its sequences.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import Final, NamedTuple

from checkers.conform.families.appends import appends
from checkers.conform.families.classic_groups import classic_groups, group_edges
from checkers.conform.families.client_metrics import client_metrics
from checkers.conform.families.consumer_groups import consumer_groups
from checkers.conform.families.draw import Draw
from checkers.conform.families.fetch_sessions import fetch_sessions
from checkers.conform.families.group_administration import group_administration
from checkers.conform.families.inspection import inspection
from checkers.conform.families.metadata import metadata
from checkers.conform.families.quotas import quotas
from checkers.conform.families.reads import deletions, fetches, offsets
from checkers.conform.families.reassignments import reassignments
from checkers.conform.families.security import security
from checkers.conform.families.switched_off import switched_off
from checkers.conform.families.topic_settings import topic_settings
from checkers.conform.families.topics import topics
from checkers.conform.families.transactions import transactions
from checkers.conform.steps import Steps, Topic
from model.faults import UnknownName


class Family(NamedTuple):
    """A family of request sequences, such as the sequences on transactions.

    `draw` is a function that generates one sequence. It appends the steps to `Draw.steps`, and
    returns the topics that must exist before the first step. `weight` is the number of times that
    `sequences` chooses the family in every cycle.
    """

    weight: int
    about: str
    draw: Callable[[Draw], tuple[Topic, ...]]


FAMILIES: Final[Mapping[str, Family]] = {
    "metadata": Family(2, "metadata, topics, settings, coordinators, versions", metadata),
    "appends": Family(3, "produce: plain and idempotent batches", appends),
    "fetches": Family(2, "fetch: offsets, limits, epochs", fetches),
    "fetch-sessions": Family(1, "fetches of a session: news, epochs, its end", fetch_sessions),
    "offsets": Family(2, "offsets by time and by leader epoch", offsets),
    "deletions": Family(1, "deletion of records, and what is left", deletions),
    "transactions": Family(4, "transactions of both protocols", transactions),
    "classic-groups": Family(2, "classic groups and their commits", classic_groups),
    "group-edges": Family(1, "groups that do not exist, and commits without members", group_edges),
    "consumer-groups": Family(2, "consumer groups of KIP-848", consumer_groups),
    "topics": Family(1, "topics: replicas, deletion, descriptions", topics),
    "topic-settings": Family(1, "timestamps, and the settings of topics", topic_settings),
    "group-administration": Family(
        1, "groups: descriptions, lists, deletion of groups and offsets", group_administration
    ),
    "switched-off": Family(
        1, "access control, tokens, quotas, share and streams groups", switched_off
    ),
    "quotas": Family(1, "client quotas, and folders of replicas", quotas),
    "client-metrics": Family(1, "subscriptions to metrics of clients", client_metrics),
    "security": Family(1, "SASL where it is off, SCRAM credentials", security),
    "inspection": Family(
        1, "producers, markers, transactions, log sizes, the quorum, elections", inspection
    ),
    "reassignments": Family(1, "replicas that move to other brokers", reassignments),
}


def sequence(family: str, seed: int) -> Steps:
    """Returns the sequence of requests that a family generates from a seed. Raises UnknownName if
    there is no such family.
    """
    if family not in FAMILIES:
        raise UnknownName("family", family, FAMILIES)
    draw = Draw(Random(f"{family} {seed}"))
    needed = FAMILIES[family].draw(draw)
    return Steps(family=family, seed=seed, topics=needed, steps=tuple(draw.steps))


def sequences(seed: int, families: Iterable[str] = FAMILIES) -> Iterator[Steps]:
    """Yields infinitely many sequences of requests. The sequences depend on `seed`. They are
    generated in cycles, and each cycle contains each of `families` as many times as the weight of
    the family.
    """
    names = tuple(families)
    rounds = range(max(FAMILIES[name].weight for name in names))
    chosen = [name for count in rounds for name in names if count < FAMILIES[name].weight]
    for number in itertools.count(seed * 1_000_000):
        for position, name in enumerate(chosen):
            yield sequence(name, number * len(chosen) + position)
