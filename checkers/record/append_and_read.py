"""The workload `append-and-read`: producers send records, and consumers read every partition.

Two processes send through each producer. The consumers do not join a group: each of them is
assigned every partition from its beginning. At the end, a process reads each partition to its end
offset, because a record that no process read would look like a lost record.
"""

from __future__ import annotations

import random
from typing import Final

from checkers.record.clients import Clients
from checkers.record.options import RecordOptions
from checkers.record.processes import Shared, Threads, Topic
from checkers.record.reading import poll_until, query_end_offsets, read_to_the_end
from checkers.record.sending import start_senders

END_OFFSET_PAUSE_S: Final = 0.005


def run(options: RecordOptions, shared: Shared, clients: Clients, topic: Topic) -> tuple[str, ...]:
    """Runs the workload. Returns the partitions that could not be read to their end, as texts
    such as `orders-0`.
    """
    sending = Threads(shared)
    watching = Threads(shared)
    start_senders(options, shared, clients, topic, sending)
    if options.fault_injector is not None:
        watching.start(options.fault_injector, shared.sent)
    for _ in range(options.consumers):
        reader = clients.reader(options.isolation)
        watching.start(poll_until, shared, reader, [topic], lambda *_: shared.sent.is_set())
    for number in range(options.end_offset_readers):
        rng = random.Random(f"end offsets {options.seed} {number}")
        pause_s = max(END_OFFSET_PAUSE_S, options.pause_s)
        reader = clients.reader(options.isolation)
        watching.start(query_end_offsets, shared, reader, topic, pause_s=pause_s, rng=rng)
    try:
        sending.join(options.progress)
        shared.sent.set()
        watching.join(options.progress)
        options.progress("reading every partition to its end")
        reader, querying = clients.reader(options.isolation), clients.reader(options.isolation)
        return read_to_the_end(shared, reader, querying, [topic])
    except BaseException:
        shared.stopped.set()
        shared.sent.set()
        for threads in (sending, watching):
            threads.wait()
        raise
