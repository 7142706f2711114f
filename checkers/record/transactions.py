"""The workload `transactions`: the members of a group consume, transform and produce. The records
flow in this direction:

    producers -> topic-in -> pipelines of one group -> topic-out -> readers

The readers read the output at both isolation levels. When the group has consumed every record, one
process reads both topics to their ends at read_committed.

An output value consists of the input value and the number of the transaction. So each output record
identifies the transaction that sent it.
"""

from __future__ import annotations

import random
import threading
import time
from typing import Final

from confluent_kafka import TopicPartition

from checkers.record.clients import Clients, Reader
from checkers.record.options import RecordOptions
from checkers.record.pipeline import Pipeline, Route, commit_beginnings, fetch_offsets
from checkers.record.processes import Shared, Threads, Topic
from checkers.record.reading import end_offset, poll_until, query_end_offsets, read_to_the_end
from checkers.record.sending import start_senders
from model.histories import Isolation

ISOLATIONS: Final[tuple[Isolation, ...]] = ("read_committed", "read_uncommitted")
QUERY_PAUSE_S: Final = 0.2
DRAINED_WITHIN_S: Final = 60.0  # without progress of the group's offsets


def run(
    options: RecordOptions, shared: Shared, clients: Clients, source: Topic, target: Topic
) -> tuple[str, ...]:
    """Runs the workload. Returns the partitions that could not be read to their end, as texts
    such as `orders-0`.
    """
    route = Route(source=source, target=target, group=f"{target.name}-group")
    kept = shared.history.kept
    if kept is None or "subscribe" not in kept.names:  # else members have committed since
        commit_beginnings(shared, clients, route)
    drained = threading.Event()
    sending, working = Threads(shared), Threads(shared)
    start_senders(options, shared, clients, source, sending)
    if options.fault_injector is not None:
        working.start(options.fault_injector, shared.sent)
    for number in range(options.pipelines):
        pipeline = Pipeline(
            shared=shared,
            clients=clients,
            route=route,
            transactional_id=f"{target.name}-{number}",
            rng=random.Random(f"pipeline {options.seed} {number}"),
        )
        working.start(pipeline.run, drained.is_set)
    pause_s = max(QUERY_PAUSE_S, options.pause_s)
    for isolation in ISOLATIONS:
        rng = random.Random(f"end offsets {options.seed} {isolation}")
        working.start(
            poll_until, shared, clients.reader(isolation), [target], lambda *_: drained.is_set()
        )
        working.start(
            query_end_offsets, shared, clients.reader(isolation), target, pause_s=pause_s, rng=rng
        )
    working.start(_watch_group_offsets, shared, clients, route, drained, pause_s)
    try:
        sending.join(options.progress)
        shared.sent.set()
        working.join(options.progress)
        options.progress("reading every partition to its end")
        committed, all_there = (clients.reader(isolation) for isolation in ISOLATIONS)
        return read_to_the_end(shared, committed, all_there, [source, target])
    except BaseException:
        for event in (shared.stopped, shared.sent, drained):
            event.set()
        for threads in (sending, working):
            threads.wait()
        raise


def _watch_group_offsets(
    shared: Shared, clients: Clients, route: Route, drained: threading.Event, pause_s: float
) -> None:
    process = shared.new_process()
    querying = clients.reader("read_committed", group=route.group)
    places = [TopicPartition(route.source.name, n) for n in range(route.source.partitions)]
    last, moved = [-1] * len(places), time.monotonic()
    ends: list[int] | None = None
    while not shared.stopped.is_set():
        fetched = fetch_offsets(shared, querying.consumer, process, route.group, places)
        if fetched is not None:
            offsets = [place.offset for place in fetched]
            if offsets != last:
                last, moved = offsets, time.monotonic()
        if shared.sent.is_set():
            ends = ends or _ends(shared, querying, process, route.source)
            at_end = ends is not None and all(at >= end for at, end in zip(last, ends, strict=True))
            if at_end or time.monotonic() > moved + DRAINED_WITHIN_S:
                break
        shared.stopped.wait(pause_s)
    drained.set()
    querying.consumer.close()


def _ends(shared: Shared, querying: Reader, process: int, topic: Topic) -> list[int] | None:
    found = [end_offset(shared, querying, process, topic, n) for n in range(topic.partitions)]
    ends = [end for end in found if end is not None]
    return ends if len(ends) == len(found) else None
