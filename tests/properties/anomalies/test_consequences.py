"""If an anomaly may follow from another one, the report names the other one as its cause."""

from __future__ import annotations

from checkers.histories.analysis import analyze
from checkers.histories.io.operation_rows import as_table
from checkers.report.anomalies import explained
from model.history_notation import history
from properties.anomalies.catalogue import BY_ID
from properties.anomalies.consequences import CONSEQUENCES, causes, closure


def test_each_consequence_is_of_two_anomalies_of_the_catalogue() -> None:
    pairs = [(one.anomaly, one.cause) for one in CONSEQUENCES]
    assert {name for pair in pairs for name in pair} <= BY_ID.keys()
    assert len(set(pairs)) == len(pairs)
    assert all(anomaly != cause for anomaly, cause in pairs)


def test_a_cause_counts_only_if_it_is_violated() -> None:
    assert [one.cause for one in causes("poll-skip", {"lost-write", "G1a"})] == ["lost-write"]
    assert list(causes("poll-skip", {"duplicate"})) == []


def test_consequences_of_consequences_are_explained_too() -> None:
    assert closure(()) == frozenset()
    assert closure({"stale-end-offset"}) == {"stale-end-offset"}
    assert {"duplicate", "G1a", "torn-transaction"} <= closure({"open-transaction-read"})


LOST = """
    p1  send k=a k=b k=c  -> ok @0 @1 @2
    c1  poll              -> ok k=a@0 k=c@2
"""
ELSEWHERE = """
    p1  send k=a k=b k=c  -> ok @0 @1 @2
    c1  poll              -> ok k=a@0
    c2  poll              -> ok k=a@0 k=b@1 k=c@2
    c1  poll              -> ok k=c@2
    p1  send j=a j=b j=c  -> ok @0 @1 @2
    c3  poll              -> ok j=a@0
    c3  poll              -> ok j=c@2
"""


READ_WHILE_OPEN = """
    t1  txn{id=x,end=30} k=a k=b  ...
    c1  poll                      -> ok k=a@0
    t1  ...                       -> info @0 @1
    p1  send k=c                  -> ok @3
    c1  poll                      -> ok k=c@3
"""


def follows(text: str, anomaly: str) -> list[str]:
    found = analyze(as_table(history(text)))
    (decision,) = [one for one in found.decisions if one.anomaly.id == anomaly]
    return [one.cause for one in decision.follows]


def test_the_report_names_the_anomaly_from_which_another_may_follow() -> None:
    assert follows(LOST, "int-poll-skip") == ["lost-write"]
    assert follows(LOST, "lost-write") == []
    text = explained(analyze(as_table(history(LOST))))
    assert "  It may follow from lost-write: readers pass the offset of the lost record.\n" in text


def test_a_record_of_an_aborted_transaction_is_lost_only_because_another_was_read() -> None:
    assert follows(READ_WHILE_OPEN, "lost-write") == ["open-transaction-read"]


def test_a_cause_in_another_log_is_none() -> None:
    assert follows(ELSEWHERE, "poll-skip") == ["lost-write"]
    only_k, _, _ = ELSEWHERE.partition("    p1  send j")
    lost_in_j = only_k + "p1 send j=a j=b -> ok @0 @1\nc3 poll -> ok j=b@1\n"
    assert follows(lost_in_j, "poll-skip") == []
