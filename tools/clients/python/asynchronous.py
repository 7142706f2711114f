"""Runs the scenarios with aiokafka, the client for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import (
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    UnknownTopicOrPartitionError,
)

from tools.clients.python.program import Args, Scenario, expect, expect_once, run

CODECS: Final = (None, "gzip", "snappy", "lz4", "zstd")


async def metadata(args: Args) -> str:
    async with administrator(args) as admin:
        brokers = (await admin.describe_cluster())["brokers"]
        expect(len(brokers) == 3, f"{len(brokers)} brokers")
        (topic,) = await admin.describe_topics([args.topic])
        partitions = topic["partitions"]
        expect(len(partitions) == 3, partitions)
        expect(all(len(one["replicas"]) == 3 for one in partitions), partitions)
    return ""


async def administration(args: Args) -> str:
    async with administrator(args) as admin:
        created = await admin.create_topics([NewTopic(args.topic, 4, 3)])
        expect(created.topic_errors[0][1] == 0, created)
        (topic,) = await admin.describe_topics([args.topic])
        expect(len(topic["partitions"]) == 4, topic)
        deleted = await admin.delete_topics([args.topic])
        expect(deleted.topic_error_codes[0][1] == 0, deleted)
        expect(args.topic not in await admin.list_topics(), "it is listed")
    return ""


async def records(args: Args) -> str:
    wanted = [f"{codec}-{number}" for codec in CODECS for number in range(args.records)]
    for codec in CODECS:
        async with producing(args, enable_idempotence=True, compression_type=codec) as producer:
            sent = [
                await producer.send(args.topic, f"{codec}-{number}".encode())
                for number in range(args.records)
            ]
            await asyncio.gather(*sent)
    seen: list[str] = []
    async with member(args) as consumer:
        while len(seen) < len(wanted):
            await read(consumer, seen)
        await consumer.commit()
    expect_once(seen, wanted)
    expect(await committed(args) == len(wanted), f"{await committed(args)} committed")
    return ", ".join(str(codec or "none") for codec in CODECS)


async def rebalance(args: Args) -> str:
    seen: list[str] = []
    async with member(args) as first, producing(args) as producer:

        async def sizes(*members: Any) -> list[int]:
            for one in members:
                await read(one, seen)
            return [len(one.assignment()) for one in members]

        await until(lambda: sizes(first), [4], "one member has not all partitions")
        async with member(args) as second:
            await until(lambda: sizes(first, second), [2, 2], "two members do not share")
            wanted = [str(number) for number in range(40)]
            for value in wanted:
                await producer.send_and_wait(args.topic, value.encode(), partition=int(value) % 4)
            while len(seen) < len(wanted):
                await sizes(first, second)
            expect_once(seen, wanted)
            await first.commit()
            await second.commit()
        await until(lambda: sizes(first), [4], "the remaining member has not all partitions")
    return ""


async def transaction(args: Args) -> str:
    wanted = [str(number) for number in range(12)]
    await write_each(args, wanted)
    place = TopicPartition(args.topic, 0)
    done, is_aborted = 0, False
    async with member(args, max_poll_records=4) as consumer, transactional(args) as producer:
        while done < len(wanted):
            polled = (await consumer.getmany(place, timeout_ms=1000)).get(place, [])
            if not polled:
                continue
            await producer.begin_transaction()
            for record in polled:
                await producer.send_and_wait(f"{args.topic}-out", record.value, partition=0)
            offsets = {place: polled[-1].offset + 1}
            await producer.send_offsets_to_transaction(offsets, args.topic)
            if is_aborted:
                await producer.commit_transaction()
                done += len(polled)
            else:
                await producer.abort_transaction()
                is_aborted = True
                expect(await committed(args) == 0, "offsets of an aborted transaction")
                consumer.seek(place, polled[0].offset)
    expect(await committed(args) == len(wanted), f"{await committed(args)} committed")
    await expect_values(args, f"{args.topic}-out", wanted)
    return ""


async def abort_after_commit(args: Args) -> str:
    async with transactional(args) as producer:
        for number in range(20):
            await producer.begin_transaction()
            await producer.send_and_wait(args.topic, f"kept-{number}".encode(), partition=0)
            await producer.commit_transaction()
            await producer.begin_transaction()
            await producer.send_and_wait(args.topic, f"gone-{number}".encode(), partition=0)
            await producer.abort_transaction()
    await expect_values(args, args.topic, [f"kept-{number}" for number in range(20)])
    return ""


async def unknown_topic(args: Args) -> str:
    async with producing(args, request_timeout_ms=3000) as producer:
        try:
            await producer.send_and_wait(args.topic, b"lost")
        except (KafkaTimeoutError, UnknownTopicOrPartitionError) as error:
            return f"the write ends with {type(error).__name__}"
    raise AssertionError("the write was accepted")


async def too_large(args: Args) -> str:
    for topic, size, is_accepted in (
        (args.topic, 900_000, True),
        (args.topic, 1_100_000, False),
        (f"{args.topic}-small", 1_000, True),
        (f"{args.topic}-small", 3_000, False),
        (f"{args.topic}-large", 1_100_000, True),
    ):
        error: KafkaError | None = None
        async with producing(args, max_request_size=10_000_000) as producer:
            try:
                await producer.send_and_wait(topic, bytes(size))
            except KafkaError as raised:
                error = raised
        is_expected = error is None if is_accepted else isinstance(error, MessageSizeTooLargeError)
        expect(is_expected, f"{size} bytes to {topic}: {error!r}")
    return ""


async def crash_of_leader(args: Args) -> str:
    wanted = [str(number) for number in range(60)]
    await write_each(args, wanted)
    await expect_values(args, args.topic, wanted)
    return ""


async def crash_of_group_coordinator(args: Args) -> str:
    wanted = [str(number) for number in range(60)]
    await write_each(args, wanted)
    seen: list[str] = []
    async with member(args, max_poll_records=5) as consumer:
        is_committed = False
        while len(set(seen)) < len(wanted) or not is_committed:
            await read(consumer, seen)
            try:
                await consumer.commit()
                is_committed = True
            except KafkaError:  # the coordinator is down: its successor gets a later commit
                is_committed = False
    expect(await committed(args) == len(wanted), f"{await committed(args)} committed")
    return ""


async def crash_of_transaction_coordinator(args: Args) -> str:
    wanted = [str(number) for number in range(20)]
    async with transactional(args) as producer:
        for value in wanted:
            await producer.begin_transaction()
            await producer.send_and_wait(args.topic, value.encode(), partition=0)
            await producer.commit_transaction()
    await expect_values(args, args.topic, wanted)
    return ""


# ---------------------------------------------------------------- what the scenarios use


@asynccontextmanager
async def administrator(args: Args) -> AsyncGenerator[Any]:
    admin = AIOKafkaAdminClient(bootstrap_servers=args.servers)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


@asynccontextmanager
async def producing(args: Args, **settings: Any) -> AsyncGenerator[Any]:
    async with AIOKafkaProducer(bootstrap_servers=args.servers, **settings) as producer:
        yield producer


def transactional(args: Args) -> Any:
    return producing(args, transactional_id=args.topic)


@asynccontextmanager
async def member(args: Args, **settings: Any) -> AsyncGenerator[Any]:
    async with AIOKafkaConsumer(
        args.topic,
        bootstrap_servers=args.servers,
        group_id=args.topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **settings,
    ) as consumer:
        yield consumer


async def until(found: Callable[[], Awaitable[Any]], wanted: Any, why: str) -> None:
    deadline = time.monotonic() + 20
    while await found() != wanted:
        expect(time.monotonic() < deadline, f"after 20 s: {why}")


async def write_each(args: Args, values: list[str]) -> None:
    async with producing(args, enable_idempotence=True) as producer:
        for value in values:
            await producer.send_and_wait(args.topic, value.encode(), partition=0)


async def read(consumer: Any, seen: list[str]) -> None:
    for polled in (await consumer.getmany(timeout_ms=100)).values():
        seen.extend(record.value.decode() for record in polled)


async def committed(args: Args) -> int:
    """Returns the sum of the offsets that the scenario's group has committed."""
    async with administrator(args) as admin:
        found = await admin.list_consumer_group_offsets(args.topic)
    return sum(max(place.offset, 0) for place in found.values())


async def expect_values(args: Args, topic: str, wanted: list[str]) -> None:
    """Checks the values of partition 0 of the topic below the last stable offset: they must be
    `wanted`, in this order. If not, raises Unexpected.
    """
    place = TopicPartition(topic, 0)
    seen: list[str] = []
    async with AIOKafkaConsumer(
        bootstrap_servers=args.servers, isolation_level="read_committed"
    ) as consumer:
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        end = (await consumer.end_offsets([place]))[place]
        deadline = time.monotonic() + 30
        while await consumer.position(place) < end:
            expect(time.monotonic() < deadline, f"the end {end} is not reached")
            await read(consumer, seen)
    expect(seen == wanted, f"read: {seen}")


def blocking(scenario: Callable[[Args], Any]) -> Scenario:
    return lambda args: asyncio.run(scenario(args))


if __name__ == "__main__":
    run(
        {
            "metadata": blocking(metadata),
            "administration": blocking(administration),
            "records": blocking(records),
            "rebalance-classic": blocking(rebalance),
            "transaction": blocking(transaction),
            "abort-after-commit": blocking(abort_after_commit),
            "unknown-topic": blocking(unknown_topic),
            "too-large": blocking(too_large),
            "crash-of-leader": blocking(crash_of_leader),
            "crash-of-group-coordinator": blocking(crash_of_group_coordinator),
            "crash-of-transaction-coordinator": blocking(crash_of_transaction_coordinator),
        }
    )
