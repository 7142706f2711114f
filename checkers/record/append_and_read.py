"""The workload `append-and-read`: producers that send, consumers that read it all.

Every producer is shared by two processes that send; consumers read all partitions from the
beginning, by assignment and not in a group; others ask for end offsets. When all is sent, a last
process asks for every end and reads every partition up to it from the beginning: without that, what
nobody has read yet could not be told from what is lost.
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
    """All threads, then the final phase; which topic partitions were not read to their end."""
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
