"""The events of a Jepsen history become operations; a malformed event is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.histories.io.jepsen import operations
from checkers.histories.io.operation_rows import as_operations
from checkers.histories.io.reading import whole
from model.histories import Assigned, Operation, Poll, Rebalanced, Send
from tests.checkers.histories.io.refusals import assert_refused

SAMPLES = Path(__file__).parents[3] / "data" / "jepsen"


def jepsen(tmp_path: Path, text: str) -> tuple[Operation, ...]:
    path = tmp_path / "h.edn"
    path.write_text(text)
    return tuple(operations(path))


EVENTS = """
{:index 0 :time 10 :type :invoke :process 0 :f :assign :value [:k "k"] :seek-to-beginning? true}
{:index 4, :time 11, :type :ok, :process 0, :f :assign, :value [:k "k"]}
{:index 5 :time 12 :type :invoke :process 0 :f :txn :value [[:send :k "v"] [:poll] [:send "k" :v]]}
{:index 6 :time 13 :type :info :process :nemesis :f :kill :value {:n1 [:a #{1}]}}
{:index 7 :time 14 :type :ok :process 0 :f :txn :rebalance-log [{:keys [:k]}]
 :value [[:send :k [3 "v"]] [:poll {1 [[0 :v] [2 "v"]], :k []}] [:send "k" [nil :v]]]}
{:index 8 :time 15 :type :invoke :process 0 :f :crash :value nil}
{:index 9 :time 16 :type :info :process 0 :f :crash :error [:oops {:a "b"}]}
{:index 10 :time 17 :type :invoke :process 5 :f :debug-topic-partitions :value [:k]}
{:index 11 :time 18 :type :ok :process 5 :f :debug-topic-partitions :value {:k {:isr [1 2]}}}
{:index 12 :time 19 :type :invoke :process 6 :f :send :value [[:send 1 nil]]}
"""


@pytest.mark.parametrize("around", ["{}", "[{}]", "#jepsen.History [{}]", "; a comment\n({})"])
def test_events_become_operations(around: str, tmp_path: Path) -> None:
    assign, txn, crash, debug, never = jepsen(tmp_path, around.replace("{}", EVENTS))
    assert (assign.f, assign.invoked_ns, assign.completed_ns) == ("assign", 10, 11)
    assert assign.did == (Assigned(":k"), Assigned('"k"'))
    assert txn.did == (
        Send(":k", '"v"', 3),
        Poll("1", 0, ":v"),
        Poll("1", 2, '"v"'),
        Send('"k"', ":v", None),
        Rebalanced(":k"),
    )
    assert (crash.outcome, crash.error) == ("info", '[:oops {:a "b"}]')
    assert (debug.process, debug.did) == (5, ())
    assert (never.completed_ns, never.outcome, never.did) == (None, "info", (Send("1", "nil"),))


def test_tagged_events_are_events(tmp_path: Path) -> None:
    event = "#jepsen.history.Op{:time 1 :type :invoke :process 0 :f :poll :value [[:poll]]}"
    assert len(jepsen(tmp_path, event)) == 1


def test_a_completion_without_a_value_keeps_the_invoked_one(tmp_path: Path) -> None:
    (send,) = jepsen(
        tmp_path,
        "{:type :invoke :process 0 :f :send :value [[:send 1 2]]}"
        "{:type :info :process 0 :f :send :value nil :error :timeout}",
    )
    assert (send.outcome, send.did, send.error) == ("info", (Send("1", "2"),), ":timeout")


def test_a_completion_without_a_value_keeps_its_rebalances(tmp_path: Path) -> None:
    (txn,) = jepsen(
        tmp_path,
        "{:type :invoke :process 0 :f :txn :value [[:send 1 2] [:poll]]}"
        "{:type :info :process 0 :f :txn :rebalance-log [{:keys [1 7]} {:keys [7]}]}",
    )
    assert txn.did == (Send("1", "2"), Rebalanced("1"), Rebalanced("7"))


@pytest.mark.parametrize(
    ("value", "offset"), [("[1 2]", None), ("[5 [1 2]]", 5), ("[nil [1 2]]", None)]
)
def test_a_sent_value_may_be_a_vector(value: str, offset: int | None, tmp_path: Path) -> None:
    """The completion `[5 [1 2]]` has the offset 5 and the value `[1 2]`."""
    (send,) = jepsen(
        tmp_path,
        "{:type :invoke :process 0 :f :send :value [[:send 1 [1 2]]]}"
        f"{{:type :info :process 0 :f :send :value [[:send 1 {value}]]}}",
    )
    assert send.did == (Send("1", "[1 2]", offset),)


def test_a_sent_value_may_have_any_number_of_digits(tmp_path: Path) -> None:
    digits = "7" * 5000
    (send,) = jepsen(
        tmp_path, f"{{:type :invoke :process 0 :f :send :value [[:send {digits} {digits}]]}}"
    )
    assert send.did == (Send(digits, digits),)


def test_characters_beyond_16_bits_survive_the_table(tmp_path: Path) -> None:
    path = tmp_path / "h.edn"
    escaped = r'[[:send "\ud83d\ude00" "\ud83d"]]'
    path.write_text("{:type :invoke :process 0 :f :send :value " + escaped + "}")
    (send,) = as_operations(whole(path))
    assert send.did == (Send('"😀"', r'"\ud83d"'),)


def test_without_times_the_position_is_the_time(tmp_path: Path) -> None:
    (poll,) = jepsen(
        tmp_path,
        "{:type :invoke :process 0 :f :poll}{:type :ok :process 0 :f :poll :value [[:poll]]}",
    )
    assert (poll.invoked_ns, poll.completed_ns) == (1, 2)


def test_a_sample_survives_the_table() -> None:
    path = SAMPLES / "005-reorder.edn"
    assert tuple(as_operations(whole(path))) == tuple(operations(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{:time 1 :type :ok :process 0 :f :send}",
            "line 1: process 0 completes an operation that it never invoked",
        ),
        ("\n{:time 1 :type :maybe :process 0}", "line 2: :type is :maybe"),
        (
            "{:type :invoke :process 0 :f :poll :time :soon}",
            "line 1: :time is :soon, not an integer",
        ),
        (
            "{:type :invoke :process 0 :f :poll :time 99999999999999999999}",
            "not an integer of 64 bits",
        ),
        (
            f"\n{{:time 1 :type :invoke :process {'7' * 5000} :f :poll}}",
            "line 2: :process is 7{60}, not an integer of 64 bits; fix that line",
        ),
        (
            "{:type :invoke :process 0 :f :send :value [[:send 1 2]]}\n"
            "{:type :ok :process 0 :f :send :value [[:send 1 [:a 2]]]}",
            "line 2: an offset is :a, not an integer",
        ),
        (
            "{:type :invoke :process 0 :f :send :value [[:send 1 2]]}\n"
            "{:type :ok :process 0 :f :send :value [[:send 1 [3 4 5]]]}",
            r"line 2: \[:send 1 \[3 4 5\]\] is neither",
        ),
        (
            "{:type :invoke :process 0 :f :poll :value {:a 1}}\n"
            "{:type :ok :process 0 :f :poll :value [[:poll]] :rebalance-log [{:keys 7}]}",
            "line 1: :value of poll is {:a 1}, not a vector",
        ),
        (
            "{:type :invoke :process 0 :f :debug :value {:a 1}}\n"
            "{:type :ok :process 0 :f :poll :value [[:poll]] :rebalance-log [{:keys 7}]}",
            "line 2: :keys of a rebalance is 7, not a vector",
        ),
        (":a", "line 1: :a is not a map"),
        ("{:time 1 :type :invoke :process 0 :f :txn :value 7}", ":value of txn is 7, not a vector"),
        ("{:time 1 :type :invoke :process 0 :f :txn :value [[:r 7]]}", r"\[:r 7\] is neither"),
        (
            "{:time 1 :type :invoke :process 0 :f :poll :value [[:poll {1 [7]}]]}",
            "a record of a poll is 7, not .offset",
        ),
        (
            "{:time 1 :type :invoke :process 0 :f :poll :value [[:poll {1 7}]]}",
            "records of a poll are 7, not a vector of",
        ),
        ("{:time 1 :process 0 :f :poll}", "line 1: :type is nil, not :invoke, :ok, :fail or :info"),
        ("{:time 1 :type [:invoke] :process 0 :f :poll}", r"line 1: :type is \[:invoke\], not"),
        ('{:time 1 :type :invoke :process "" :f :poll}', ':process is "", not an integer'),
        ("\n{:time 1 :type :invoke :f :poll}", "line 2: :process is nil, not an integer"),
        ('{:time 1 :type :invoke :process "0" :f :poll}', ':process is "0", not an integer'),
        ("{:time 1 :type :invoke :process 0}", "line 1: the event of process 0 has no :f"),
        ("\0\x1b", r"line 1: \\u0000\\u001b is not a map, and an event is one; fix that line"),
        (f"{{:time {2**63 - 1} :type :invoke :process 0 :f :poll}}", "not an integer of 64 bits"),
        ("{:time 1", "line 1, column 1: '{' is never closed: the text is cut short; copy the file"),
    ],
)
def test_a_malformed_jepsen_history_is_an_error_with_its_line(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "h.edn"
    path.write_text(text)
    assert_refused(path, message)


def test_a_file_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "h.edn"
    path.write_bytes(b"; \n\n\xff\xfe{")
    assert_refused(path, "line 3: invalid start byte; EDN is UTF-8 text")
