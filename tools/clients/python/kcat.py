"""Runs the scenarios with kcat, a client on librdkafka that cannot administer a cluster."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

from tools.clients.python.program import (
    Args,
    NotOffered,
    await_until,
    expect,
    expect_once,
    run,
)

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
IDEMPOTENT: Final = ("-X", "enable.idempotence=true")
PATIENT: Final = ("-m", "40")  # seconds, of which a broker may be down for some
COMMITS_EVERY_S: Final = 5
REBALANCED: Final = re.compile(r"% Group \S+ rebalanced(.*)")
PARTITION: Final = re.compile(r"\[(\d+)\]")


def metadata(args: Args) -> str:
    found = json.loads(kcat(args, "-L", "-J", "-t", args.topic))
    expect(len(found["brokers"]) == 3, f"{len(found['brokers'])} brokers")
    (topic,) = found["topics"]
    expect(len(topic["partitions"]) == 3, topic)
    expect(
        all(one["leader"] > 0 and len(one["replicas"]) == 3 for one in topic["partitions"]), topic
    )
    return ""


def records(args: Args) -> str:
    wanted = [f"{codec}-{number}" for codec in CODECS for number in range(args.records)]
    for codec in CODECS:
        ours = [value for value in wanted if value.startswith(f"{codec}-")]
        kcat(args, "-P", "-t", args.topic, *IDEMPOTENT, "-z", codec, values=ours)
    expect_once(rest_of_group(args), wanted)
    left = rest_of_group(args)
    expect(not left, f"the group reads {len(left)} records again")
    return ", ".join(CODECS)


def rebalance(args: Args, strategy: str) -> str:
    settings = ("-X", f"partition.assignment.strategy={strategy}")
    with member(args, *settings) as first:
        await_until(lambda: len(first.partitions) == 4, "one member has not all partitions")
        with member(args, *settings) as second:

            def are_shared() -> bool:
                return (len(first.partitions), len(second.partitions)) == (2, 2)

            await_until(are_shared, "two members do not share the partitions")
            wanted = [str(number) for number in range(40)]
            for index in range(4):
                kcat(args, "-P", "-t", args.topic, "-p", str(index), values=wanted[index::4])
            await_until(
                lambda: len(first.values) + len(second.values) >= len(wanted), "records are missing"
            )
            expect_once([*first.values, *second.values], wanted)
        await_until(lambda: len(first.partitions) == 4, "the remaining member has not all")
    left = rest_of_group(args)
    expect(not left, f"the group reads {len(left)} records again")
    return ""


def rebalance_consumer(args: Args) -> str:
    del args
    raise NotOffered("its librdkafka does not know KIP-848: there is no setting group.protocol")


def transaction(args: Args) -> str:
    del args
    raise NotOffered("a transaction of kcat has records, and no offsets of a group")


def abort_after_commit(args: Args) -> str:
    for number in range(20):
        write_in_transaction(args, f"kept-{number}")
        interrupt_transaction(args, f"gone-{number}")
    expect_values(args, [f"kept-{number}" for number in range(20)])
    return "SIGINT ends kcat without EndTxn; InitProducerId of the next process aborts"


def unknown_topic(args: Args) -> str:
    ended = call(
        args, "-P", "-t", args.topic, "-X", "topic.metadata.propagation.max.ms=100", values=["lost"]
    )
    expect(ended.returncode != 0 and "Unknown topic" in ended.stderr, ended.stderr)
    return ""


def too_large(args: Args) -> str:
    for topic, size, is_accepted in (
        (args.topic, 900_000, True),
        (args.topic, 1_100_000, False),
        (f"{args.topic}-small", 1_000, True),
        (f"{args.topic}-small", 3_000, False),
        (f"{args.topic}-large", 1_100_000, True),
    ):
        settings = ("-X", "message.max.bytes=10000000")
        ended = call(args, "-P", "-t", topic, *settings, values=["v" * size])
        is_refused = "Message size too large" in ended.stderr
        expect(is_refused is not is_accepted, f"{size} bytes to {topic}: {ended.stderr}")
    return ""


def crash_of_leader(args: Args) -> str:
    wanted = [str(number) for number in range(60)]
    settings = (*IDEMPOTENT, "-X", "batch.num.messages=1", "-p", "0")
    kcat(args, "-P", "-t", args.topic, *settings, values=wanted)
    expect_values(args, wanted)
    return ""


def crash_of_group_coordinator(args: Args) -> str:
    wanted = [str(number) for number in range(60)]
    with member(args) as one:
        await_until(lambda: one.partitions, "the member has no partition")
        for value in wanted:  # for longer than three intervals of commits
            kcat(args, "-P", "-t", args.topic, "-p", "0", values=[value])
            time.sleep(0.3)
        await_until(lambda: set(one.values) == set(wanted), "records are missing", 50)
        time.sleep(COMMITS_EVERY_S + 1)
    left = rest_of_group(args)
    expect(not left, f"the group reads {left} again")
    return "kcat commits every 5 s"


def crash_of_transaction_coordinator(args: Args) -> str:
    wanted = [str(number) for number in range(20)]
    for value in wanted:
        write_in_transaction(args, value)
    expect_values(args, wanted)
    return "each transaction is a process of its own"


# ---------------------------------------------------------------- what the scenarios use


def kcat(args: Args, *words: str, values: Sequence[str] = ()) -> str:
    """Runs kcat, and returns its output. Raises Unexpected if kcat fails."""
    ended = call(args, *words, values=values)
    expect(ended.returncode == 0, f"kcat {words}: {ended.stderr}")
    return ended.stdout


def call(args: Args, *words: str, values: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["kcat", "-b", args.servers, *words],
        input="".join(f"{value}\n" for value in values),
        capture_output=True,
        text=True,
        check=False,
    )


def write_in_transaction(args: Args, value: str) -> None:
    kcat(args, *transactional(args), values=[value])


def interrupt_transaction(args: Args, value: str) -> None:
    """Begins a transaction with kcat, and stops kcat by SIGINT when its first records are in the
    log.
    """
    words = ["kcat", "-b", args.servers, *transactional(args)]
    before = end_of_log(args)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write(f"{value}\n".encode() * 2000)
        process.stdin.flush()
        await_until(lambda: end_of_log(args) > before, "no record arrives")
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        process.wait(40)


def end_of_log(args: Args) -> int:
    settings = ("-X", "isolation.level=read_uncommitted")
    return int(kcat(args, "-Q", "-t", f"{args.topic}:0:-1", *settings).split()[-1])


def transactional(args: Args) -> Sequence[str]:
    return (*PATIENT, "-P", "-t", args.topic, "-p", "0", "-X", f"transactional.id={args.topic}")


def rest_of_group(args: Args) -> list[str]:
    """Returns the records from the group's committed offsets to the end of the topic. Afterwards,
    the group has committed this end.
    """
    return kcat(args, *in_group(args), "-e", "-q", args.topic).split()


def in_group(args: Args) -> Sequence[str]:
    return ("-G", args.topic, "-X", "auto.offset.reset=earliest")


def expect_values(args: Args, wanted: list[str]) -> None:
    settings = ("-X", "isolation.level=read_committed")
    found = kcat(args, "-C", "-t", args.topic, "-p", "0", "-e", "-q", *settings).split()
    expect(found == wanted, f"read: {found}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    output: IO[str]
    errors: IO[str]

    @property
    def values(self) -> list[str]:
        return Path(self.output.name).read_text(encoding="utf-8").split()

    @property
    def partitions(self) -> set[int]:
        """The partitions that the member owns after the rebalances that kcat has reported so
        far.
        """
        found: set[int] = set()
        for change in REBALANCED.findall(Path(self.errors.name).read_text(encoding="utf-8")):
            named = {int(index) for index in PARTITION.findall(change)}
            found = found | named if "assign" in change else found - named
        return found


@contextmanager
def member(args: Args, *settings: str) -> Generator[Member]:
    """Runs kcat as a member of the group for the duration of a `with` block.

    At the end of the block, kcat commits its offsets and leaves the group.
    """
    words = ["kcat", "-b", args.servers, *in_group(args), "-u", *settings, args.topic]
    with (
        tempfile.NamedTemporaryFile("w+", encoding="utf-8") as output,
        tempfile.NamedTemporaryFile("w+", encoding="utf-8") as errors,
        subprocess.Popen(words, stdout=output, stderr=errors, text=True) as process,
    ):
        try:
            yield Member(output=output, errors=errors)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


if __name__ == "__main__":
    run(
        {
            "metadata": metadata,
            "records": records,
            "rebalance-classic": partial(rebalance, strategy="range"),
            "rebalance-cooperative": partial(rebalance, strategy="cooperative-sticky"),
            "rebalance-consumer": rebalance_consumer,
            "transaction": transaction,
            "abort-after-commit": abort_after_commit,
            "unknown-topic": unknown_topic,
            "too-large": too_large,
            "crash-of-leader": crash_of_leader,
            "crash-of-group-coordinator": crash_of_group_coordinator,
            "crash-of-transaction-coordinator": crash_of_transaction_coordinator,
        }
    )
