"""The committed offset of a group as a history shows it: who set it when, and who was told it.

For each group and key it is one register. A commit sets it: outside a transaction when the
coordinator takes it, inside one when the coordinator stages it and only if the transaction commits.
The coordinator orders commits as it was given them: a staged one takes effect behind those that
were taken before it, and loses to those that were taken after it, however late its transaction's
marker comes. A fetch is told the register; at read_committed it waits while a transaction with a
staged offset is undecided (KIP-447, `require_stable`), at read_uncommitted it does not, and so may
be told what held before a transaction that has ended `ok`.

A register that holds nothing is below every offset: NONE.

Source: KIP-98, KIP-447; GroupMetadataManager of Apache Kafka for the order of staged commits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.histories import CommitOffset, FetchOffset, History, Outcome
from properties.anomalies.observations import dirty
from properties.anomalies.transactions.visible import TRANSACTION

NONE: Final = -1  # what a fetch is told where nothing was committed
FOREVER_NS: Final = 2**63 - 1
Register = tuple[str, str]  # group, key


@dataclass(frozen=True, slots=True, order=True)
class Commit:
    """An operation that sets the register to the offset, or tried to."""

    register: Register
    offset: int
    op: int
    outcome: Outcome
    in_transaction: bool
    invoked_ns: int
    completed_ns: int  # FOREVER_NS unless it ended `ok` or `fail`: it may still take effect


@dataclass(frozen=True, slots=True, order=True)
class Fetch:
    """An operation that ended `ok` and was told what the register holds."""

    register: Register
    offset: int
    op: int
    stable: bool  # it waits for transactions
    invoked_ns: int
    completed_ns: int


def commits(history: History) -> tuple[Commit, ...]:
    """Every commit of a group's offset, however it ended."""
    return tuple(
        Commit(
            (operation.group, micro.key),
            micro.offset,
            number,
            operation.outcome,
            operation.f == TRANSACTION,
            operation.invoked_ns,
            FOREVER_NS
            if operation.outcome == "info" or operation.completed_ns is None
            else operation.completed_ns,
        )
        for number, operation in enumerate(history)
        for micro in operation.did
        if isinstance(micro, CommitOffset) and operation.group is not None
    )


def fetches(history: History) -> tuple[Fetch, ...]:
    """Every answer that tells a group's offset."""
    return tuple(
        Fetch(
            (operation.group, micro.key),
            NONE if micro.offset is None else micro.offset,
            number,
            not dirty(operation),
            operation.invoked_ns,
            operation.completed_ns,
        )
        for number, operation in enumerate(history)
        for micro in operation.did
        if isinstance(micro, FetchOffset) and operation.group is not None
        if operation.outcome == "ok" and operation.completed_ns is not None
    )


def facts(history: History) -> tuple[Commit | Fetch, ...]:
    """Everything that may tell what a register holds."""
    return (*commits(history), *fetches(history))


def known_to(fetch: Fetch, fact: Commit | Fetch) -> bool:
    """The fetch began when the register surely held the fact, or something set later."""
    if fact.register != fetch.register or fact.completed_ns >= fetch.invoked_ns:
        return False
    if isinstance(fact, Fetch):
        return True
    return fact.outcome == "ok" and (fetch.stable or not fact.in_transaction)


def may_follow(commit: Commit, fact: Commit | Fetch) -> bool:
    """The commit may have taken effect after the fact held: it then explains a later answer.

    A fetch at read_uncommitted may have passed a staged commit of a transaction that had ended.
    """
    if commit.outcome == "fail" or commit.register != fact.register:
        return False
    passed = isinstance(fact, Fetch) and not fact.stable and commit.in_transaction
    return passed or commit.completed_ns >= fact.invoked_ns
