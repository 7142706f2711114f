"""The scenarios with kcat, a command-line client on librdkafka that cannot administer a cluster."""

from __future__ import annotations

import json
import subprocess
from typing import Final

from tools.clients.python.program import Args, NotTried, expect, expect_once, run

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


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
        settings = ("-X", "enable.idempotence=true", "-z", codec)
        kcat(args, "-P", "-t", args.topic, *settings, values=ours)
    group = ("-G", args.topic, "-e", "-q", "-X", "auto.offset.reset=earliest", args.topic)
    expect_once(kcat(args, *group).split(), wanted)
    left = kcat(args, *group)
    expect(not left, f"the group reads {len(left)} bytes again")
    return ", ".join(CODECS)


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


def groups(args: Args) -> str:
    raise NotTried("kcat -G joins a group; the program runs no two members")


def crash_of_leader(args: Args) -> str:
    wanted = [str(number) for number in range(60)]
    settings = ("-X", "enable.idempotence=true", "-X", "batch.num.messages=1", "-p", "0")
    kcat(args, "-P", "-t", args.topic, *settings, values=wanted)
    found = kcat(args, "-C", "-t", args.topic, "-p", "0", "-e", "-q").split()
    expect(found == wanted, f"read: {found}")
    return ""


# ---------------------------------------------------------------- what the scenarios use


def kcat(args: Args, *words: str, values: list[str] | None = None) -> str:
    """Returns the output of kcat, which must succeed."""
    ended = call(args, *words, values=values)
    expect(ended.returncode == 0, f"kcat {words}: {ended.stderr}")
    return ended.stdout


def call(
    args: Args, *words: str, values: list[str] | None = None
) -> subprocess.CompletedProcess[str]:
    given = "".join(f"{value}\n" for value in values or ())
    return subprocess.run(
        ["kcat", "-b", args.servers, *words],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    run(
        {
            "metadata": metadata,
            "records": records,
            "rebalance-classic": groups,
            "rebalance-cooperative": groups,
            "crash-of-group-coordinator": groups,
            "unknown-topic": unknown_topic,
            "too-large": too_large,
            "crash-of-leader": crash_of_leader,
        }
    )
