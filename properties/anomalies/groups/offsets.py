"""The commits and fetches of a group's offset in a history, and which commit explains a fetch.

The committed offset of a group for one topic partition is called a *register*. A commit outside a
transaction takes effect when the coordinator accepts it. A commit inside a transaction is pending
until the transaction commits. The coordinator orders all commits by their arrival. The commit that
arrived last determines the offset, even if an earlier commit was pending and takes effect
afterwards.

A fetch at read_committed waits while a transaction with a pending offset is undecided (KIP-447,
`require_stable`). A fetch at read_uncommitted may return an older offset, even after the
transaction has ended `ok`. The value NONE means that no offset was committed. It is lower than
every offset.

Source: KIP-98, KIP-447; OffsetMetadataManager of Apache Kafka for the order of pending commits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.histories import CommitOffset, FetchOffset, History, Outcome
from properties.anomalies.observations import dirty
from properties.anomalies.remembered import remembered
from properties.anomalies.transactions.visible import TRANSACTION

NONE: Final = -1  # what a fetch returns if no offset was committed
FOREVER_NS: Final = 2**63 - 1
Register = tuple[str, str]  # group, key


@dataclass(frozen=True, slots=True, order=True)
class Commit:
    """An operation that committed a group's offset, or tried to commit it."""

    register: Register
    offset: int
    op: int
    outcome: Outcome
    in_transaction: bool
    invoked_ns: int
    completed_ns: int  # FOREVER_NS unless it ended `ok` or `fail`: it may still take effect


@dataclass(frozen=True, slots=True, order=True)
class Fetch:
    """An operation that ended `ok` and returned a group's committed offset."""

    register: Register
    offset: int
    op: int
    stable: bool  # the fetch waits for undecided transactions
    invoked_ns: int
    completed_ns: int


@remembered
def commits(history: History) -> tuple[Commit, ...]:
    """Returns every commit of a group's offset, whatever the outcome of the operation."""
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


@remembered
def fetches(history: History) -> tuple[Fetch, ...]:
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


@remembered
def facts(history: History) -> tuple[Commit | Fetch, ...]:
    """Returns all commits and all fetches of group offsets. The commits come first."""
    return (*commits(history), *fetches(history))


def known_to(fetch: Fetch, fact: Commit | Fetch) -> bool:
    """Returns True if `fact` proves which offset the group had at a time before `fetch` began.

    `fact` must be about the same group and topic partition as `fetch`, and it must have completed
    before `fetch` began. If `fact` is a commit, it must have ended `ok`. A commit inside a
    transaction is a proof only if `fetch` is at read_committed.
    """
    if fact.register != fetch.register or fact.completed_ns >= fetch.invoked_ns:
        return False
    if isinstance(fact, Fetch):
        return True
    return fact.outcome == "ok" and (fetch.stable or not fact.in_transaction)


def may_follow(commit: Commit, fact: Commit | Fetch) -> bool:
    """Returns True if the commit did not fail, and may have taken effect after `fact` on the same
    group and topic partition.

    The commit may have taken effect after `fact` in two cases:

    - The commit completed after `fact` was invoked.
    - The commit is inside a transaction, and `fact` is a fetch at read_uncommitted. Such a fetch
      does not wait for the markers of a transaction, so it may return the old offset after the
      transaction ended `ok`.
    """
    if commit.outcome == "fail" or commit.register != fact.register:
        return False
    passed = isinstance(fact, Fetch) and not fact.stable and commit.in_transaction
    return passed or commit.completed_ns >= fact.invoked_ns
