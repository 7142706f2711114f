"""The steps of a follower: it sends a fetch, and handles the response.

Source: AbstractFetcherThread.processFetchRequest; ReplicaFetcherThread.processPartitionData;
UnifiedLog.assignEpochStartOffset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkers.tracing.logged_events import Event
from checkers.tracing.outcomes import Outcome, Refused, compared
from checkers.tracing.partition import Handler, Partition
from checkers.tracing.replication_lines import Step
from properties.refinement.behaviour import as_int
from properties.refinement.log_entries import last_offset


def fetch(partition: Partition, event: Event) -> Outcome:
    node, offset = event.line.node, event.number("offset")
    r, now, epoch = partition.replicas[node], partition.now, event.number("leader_epoch")
    if epoch < now.epoch(r):
        return None  # sent before the fetcher heard of the new leader epoch
    last, of_last = event.fields.get("last_epoch"), now.last_epoch(r)
    refused = compared("leader epoch", epoch, now.epoch(r)) or compared(
        "fetch offset", offset, now.end(r)
    )
    # a former leader that appended nothing names its own epoch: the cache of epochs has it
    led_last = isinstance(last, int) and now.led_without_append(r, last)
    refused = refused or (None if led_last else compared("last fetched epoch", last, of_last))
    if refused is not None:
        return refused
    sent = partition.facts.sent
    partition.note(sent={**sent, node: {**sent.get(node, {}), epoch: offset}})
    if last == of_last:
        partition.do_if_allowed("fetch_request", r, last_offset(offset))  # not if logs diverge
    return None


def receive(partition: Partition, event: Event) -> Outcome:
    node, mark = event.line.node, event.number("mark")
    r, now = partition.replicas[node], partition.now
    of_leader = as_int(partition.behaviour.state["led.high_watermark", (now.epoch(r),)])
    if mark > of_leader:
        return Refused(
            f"the response has high watermark {mark}, the leader of leader epoch {now.epoch(r)}"
            f" had at most {of_leader}"
        )
    heard = partition.facts.heard
    if node in heard:
        return Refused("the fetch response before was not handled to its end")
    partition.note(heard={**heard, node: mark})
    return compared("log end", event.number("offset"), now.end(r))


def fail(partition: Partition, event: Event) -> Outcome:
    _forget_response(partition, event.line.node)
    return None


def _forget_response(partition: Partition, broker: int) -> None:
    heard = partition.facts.heard
    partition.note(heard={b: mark for b, mark in heard.items() if b != broker})


def copied(partition: Partition, event: Event) -> Outcome:
    r = partition.replicas[event.line.node]
    return compared("log end", event.number("offset"), partition.now.end(r))


def follower_mark(partition: Partition, event: Event) -> Outcome:
    node, received, now = event.line.node, event.number("received"), partition.now
    r = partition.replicas[node]
    refused = compared("received high watermark", received, partition.facts.heard.get(node))
    if refused is not None:
        return refused
    _forget_response(partition, node)
    expected = min(received, now.end(r))
    if "mark" not in event.fields:
        return compared("high watermark", now.mark(r), expected)
    refused = compared("high watermark", event.number("mark"), expected)
    if refused is not None:
        return refused
    if expected == now.mark(r):
        return Refused(f"the high watermark was {expected} before")
    return partition.do("follower_high_watermark", r, last_offset(now.end(r)), expected)


STEPS: Final[Mapping[Step, Handler]] = {
    Step.FETCH: fetch,
    Step.RECEIVE: receive,
    Step.FAIL: fail,
    Step.COPIED: copied,
    Step.FOLLOWER_MARK: follower_mark,
}
