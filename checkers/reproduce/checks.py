"""The checks of the steps on real brokers. A check is a function of the `Stage`. Its result has a
flag, which is True if a step has happened, and a text about what was seen.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from functools import partial

from checkers.reproduce.reproduction import Seen
from checkers.reproduce.stage import Stage
from checkers.reproduce.transactions import coordinator
from reference_impl.wire.messages.apis import Api

Check = Callable[[Stage], Seen]


def partition(
    *,
    leader: int | None = None,
    isr: Collection[int] | None = None,
    elr: Collection[int] | None = None,
    elr_has: int | None = None,
    replicas: Collection[int] | None = None,
    preferred: int | None = None,
    at: int | None = None,
    index: int | None = None,
) -> Check:
    """Returns a check that succeeds if the metadata of a partition has the values of the
    parameters. A parameter that is None is not compared. `at` and `index` select the broker and the
    partition.

    - `leader` is -1 if the partition must have no leader.
    - `elr_has` is a broker that must be in the ELR.
    - `preferred` is the first of the replicas.
    - `at` is the broker whose metadata is read. If it is None, the metadata of any broker is read.
    - `index` is the number of the partition. If it is None, it is the last partition of the topic.
    """

    def check(stage: Stage) -> Seen:
        state = stage.state(at, index)
        if state is None:
            return Seen(reached=False, text="no broker knows the partition")
        reached = (
            leader in (None, state.leader)
            and (isr is None or state.isr == frozenset(isr))
            and (elr is None or state.elr == frozenset(elr))
            and (elr_has is None or elr_has in state.elr)
            and preferred in (None, state.replicas[0])
            and (replicas is None or {*state.replicas} == {*replicas})
        )
        return Seen(reached=reached, text=str(state))

    return check


def deleted(at: int | None = None) -> Check:
    """Returns a check that succeeds if the broker `at` responds and does not know the topic. If
    `at` is None, it is the first broker that responds.
    """

    def check(stage: Stage) -> Seen:
        for state in stage.states(at):
            return Seen(reached=state is None, text="no topic" if state is None else str(state))
        return Seen(reached=False, text="no broker responds")

    return check


def coordinates(broker: int) -> Check:
    """Returns a check that succeeds if the broker's own metadata has this broker as the coordinator
    of the transactional id of the reproduction.
    """

    def check(stage: Stage) -> Seen:
        found = coordinator(partial(stage.call, at=broker))
        text = f"coordinator {found['node_id']}, {found['error_code']}"
        return Seen(reached=found["node_id"] == broker, text=text)

    return check


def registered(*brokers: int, at: int) -> Check:
    """Returns a check that succeeds if the metadata of the broker `at` has exactly the brokers
    `brokers`. A broker is in the metadata if it is registered and not fenced.
    """

    def check(stage: Stage) -> Seen:
        answer = stage.call(Api.METADATA, 9, {"topics": []}, at)
        found = sorted(one["node_id"] for one in answer["brokers"])
        return Seen(reached=found == [*brokers], text=f"brokers {found}")

    return check


def acknowledged(*values: str) -> Check:
    def check(stage: Stage) -> Seen:
        missing = [value for value in values if value not in stage.acknowledged]
        if missing:
            refused = [f"{value} ({stage.refused.get(value, 'pending')})" for value in missing]
            return Seen(reached=False, text=f"not acknowledged: {', '.join(refused)}")
        offsets = [stage.offsets[value] for value in values]
        return Seen(reached=True, text=f"acknowledged at offsets {_ranges(offsets)}")

    return check


def unanswered(value: str, for_s: float = 1.0) -> Check:
    """Returns a check that waits `for_s` seconds. It succeeds if the record with this value is then
    neither acknowledged nor refused.
    """

    def check(stage: Stage) -> Seen:
        time.sleep(for_s)
        answered = value in stage.acknowledged or value in stage.refused
        text = f"{value} {'is' if answered else 'is not'} answered after {for_s:.0f} s"
        return Seen(reached=not answered, text=text)

    return check


def refused(value: str, error: str) -> Check:
    def check(stage: Stage) -> Seen:
        found = stage.refused.get(value, "no error")
        return Seen(reached=error in found, text=f"{value}: {found}")

    return check


def _ranges(offsets: list[int]) -> str:
    first, last = offsets[0], offsets[-1]
    if offsets == [*range(first, last + 1)] and first != last:
        return f"{first} to {last}"
    return ", ".join(map(str, offsets))


def acted(rule: str, times: int) -> Check:
    """Returns a check that succeeds if a fault rule of the proxies has affected at least `times`
    requests or responses.
    """

    def check(stage: Stage) -> Seen:
        active = stage.rules[rule]
        text = f"the proxies acted {active.acted} times"
        if active.undecided:
            text += f", and could not decide about {active.undecided} requests"
        return Seen(reached=active.acted >= times, text=text)

    return check


def logged(node: int, pattern: str) -> Check:
    def check(stage: Stage) -> Seen:
        lines = stage.log_of(node).read_text(errors="replace", encoding="utf-8").splitlines()
        found = next((line for line in lines if re.search(pattern, line)), None)
        return Seen(reached=found is not None, text=found or f"no line matches {pattern}")

    return check


def folders(node: int, pattern: str, *, disk: int = 1) -> Check:
    """Returns a check that succeeds if a log directory of a broker has a folder whose name
    matches a pattern. `disk` is the number of the log directory, from 1.
    """

    def check(stage: Stage) -> Seen:
        names = sorted(path.name for path in stage.log_dirs_of(node)[disk - 1].iterdir())
        found = [name for name in names if re.fullmatch(pattern, name)]
        return Seen(reached=bool(found), text=", ".join(found) or f"no folder matches {pattern}")

    return check


def copied(value: str, *nodes: int) -> Check:
    """Returns a check that succeeds if the log of each of the brokers `nodes` has a record with
    this value.
    """

    def check(stage: Stage) -> Seen:
        lacking = [node for node in nodes if value.encode() not in stage.values_of(node)]
        text = f"{value} is in the log of each" if not lacking else f"{value} is not in {lacking}"
        return Seen(reached=not lacking, text=text)

    return check


def log_has(count: int, node: int) -> Check:
    """Returns a check that succeeds if a broker's log of the partition has exactly `count`
    records, including transaction markers.
    """

    def check(stage: Stage) -> Seen:
        found = len(stage.values_of(node))
        return Seen(reached=found == count, text=f"the log of broker {node} has {found} records")

    return check


def lost(count: int, *nodes: int) -> Check:
    """Returns a check that succeeds if each of the brokers `nodes` lost exactly `count` records
    in power losses.
    """

    def check(stage: Stage) -> Seen:
        found = {node: stage.lost_by(node) for node in nodes}
        text = ", ".join(f"broker {node} lost {records}" for node, records in found.items())
        return Seen(reached={*found.values()} == {count}, text=f"{text} records")

    return check


def was_read(stage: Stage) -> Seen:
    unread = ", ".join(stage.unread)
    return Seen(reached=not unread, text=f"not read to the end: {unread}" if unread else "read")


def is_noted(error: str | None = None) -> Check:
    """Returns a check that succeeds if the text in `stage.noted` is `error`. If `error` is None,
    every text is accepted.
    """

    def check(stage: Stage) -> Seen:
        return Seen(reached=error in (None, stage.noted), text=f"answer: {stage.noted}")

    return check


def committed(stage: Stage) -> Seen:
    state = "committed" if stage.client.committed else stage.client.error or "no answer yet"
    return Seen(reached=stage.client.committed, text=state)


def is_ended(stage: Stage) -> Seen:
    return Seen(reached=stage.client.ended, text=stage.client.error or "aborted")


def done(_: Stage) -> Seen:
    """Always succeeds. This is the check after an action that raises an error if it fails."""
    return Seen(reached=True, text="done")
