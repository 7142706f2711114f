"""A counterexample is printed as Python code that fails again; comments explain each call."""

from __future__ import annotations

import pytest

from properties.suites.machines.judged import Shown
from properties.suites.replication.rules import ReplicationMachine
from properties.suites.search.counterexample import parse, program, reprint
from properties.suites.search.programs import Call
from properties.suites.search.searching import Found
from properties.suites.transactions.rules import TransactionsMachine
from reference_impl.node.bugs import bugs_named

NO_DEDUP = bugs_named("no-dedup")
DUPLICATE = Found(
    name="exactly_once_publish",
    how="v1 is at offsets 1, 3",
    calls=(
        Call("send_and_await", (("count", 1),)),
        Call("send_and_lose_responses", (("count", 1),)),
        Call("send_and_await", (("count", 1),)),
        Call("crash_leader"),
    ),
)


def printed() -> str:
    return program(ReplicationMachine, DUPLICATE, "idempotent", NO_DEDUP)


def test_each_call_has_a_comment_that_explains_it() -> None:
    lines = printed().splitlines()
    for call in ("state.send_and_lose_responses(count=1)", "state.crash_leader()"):
        (at,) = (n for n, line in enumerate(lines) if line.startswith(call))
        assert "  # " in lines[at] or lines[at - 1].startswith("# ")


def test_the_comments_list_the_events_of_the_failure() -> None:
    text = printed()
    story = [
        "broker 1 leads orders-0 in leader epoch 0",
        "producer 1 sends v1",
        "broker 1 crashes",
        "broker 2 is elected leader of orders-0 in leader epoch 1",
        "producer 1 gets v1 acknowledged at offset 3 of orders-0",
    ]
    places = [text.index(event) for event in story]
    assert places == sorted(places)


TORN = Found(name="atomic_commit", how="torn", calls=())
LAST_TRANSACTION = [
    "application 5 commits transaction of t: end output-1:0 at offset 0",
    "output-0 gets commit marker at offset 1",
    "application 6 reads end output-0:0 at offset 0 of output-0",
    "application 6 receives last stable offset 0 of output-1",
]


def test_a_run_without_calls_has_its_story_in_the_comments_on_teardown() -> None:
    text = program(TransactionsMachine, TORN, "V2", bugs_named("marker-on-one-partition"))
    explained, _, story = text.partition("\nstate.teardown()\n")
    assert "# the shrunk run needs no other step; teardown() ends all faults; a new" in explained
    places = [story.index(event) for event in LAST_TRANSACTION]
    assert places == sorted(places)
    assert "output-1 gets commit marker" not in story


def test_without_the_bug_each_partition_gets_its_marker() -> None:
    story = program(TransactionsMachine, TORN, "V2", bugs_named())
    assert "output-0 gets commit marker at offset 1" in story
    assert "output-1 gets commit marker at offset 1" in story


def test_the_last_comment_names_the_broken_claim_and_its_evidence() -> None:
    assert printed().endswith("# Broken: exactly_once_publish: v1 is at offsets 1, 3\n")


def test_the_program_fails_again() -> None:
    with pytest.raises(Shown, match=r"^exactly_once_publish: v1 is at offsets 1, 3$"):
        exec(printed(), {})


def test_a_printed_program_is_read_back() -> None:
    parsed = parse(printed())
    assert parsed.machine is ReplicationMachine
    assert (parsed.setting, parsed.bugs) == ("idempotent", NO_DEDUP)
    assert (parsed.name, parsed.calls) == (DUPLICATE.name, DUPLICATE.calls)


def test_printing_again_changes_nothing_but_stale_comments() -> None:
    text = printed()
    assert reprint(text) == text
    bare = "\n".join(line.partition("  # ")[0] for line in text.splitlines() if line[:1] != "#")
    assert reprint(bare) == text


def test_a_program_that_shows_nothing_any_more_is_refused() -> None:
    fixed = printed().replace(', bugs=bugs_named("no-dedup")', "")
    with pytest.raises(AssertionError, match="the program no longer shows exactly_once_publish"):
        reprint(fixed)
