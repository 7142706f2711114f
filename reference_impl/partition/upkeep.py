"""The periodic tasks of a broker for its replicas. Each line has a task and its result:

    checkpoint -> all records and the present high watermark are written to the disk
    retention  -> old segments and inactive producers are deleted
    compaction -> only the newest record of each key remains
    flush      -> all records that are now in the log survive a power loss

Source: docs/kafka-rules.md A7, A8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from reference_impl.log.compaction import compacted
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.retention import retained
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import TimerKind
from reference_impl.partition.roles import Replica
from reference_impl.protocol.topic_config import LARGEST_MS


def checkpoint(replica: Replica, context: Context) -> Replica:
    """Returns the replica after its log and its high watermark were written to the disk.

    Kafka: ReplicaManager.checkpointHighWatermarks.
    """
    del context
    log = replica.log.on_disk()
    return replica if log is replica.log else replace(replica, log=log)


def retain(replica: Replica, context: Context) -> Replica:
    """Returns the replica after retention and after the expiry of producers.

    If cleanup.policy contains `compact`, this function does not apply retention, because the
    function `compact` does so.

    Kafka: LogManager.cleanupLogs.
    """
    log, producers = replica.log, replica.producers
    if not replica.state.log_config.cleanup_policy.compacts:
        log, producers = _retained(replica, log, context)
    expiration_ms = context.broker_settings.producer_expiration_ms
    return _with(replica, log, producers.unexpired(context.now_ms, expiration_ms))


def compact(replica: Replica, context: Context) -> Replica:
    """Returns the replica after compaction and retention. If cleanup.policy does not contain
    `compact`, returns the same replica.

    Kafka: LogCleaner.CleanerThread.tryCleanFilthiestLog and cleanupLogs.
    """
    config, producers = replica.state.log_config, replica.producers
    if not config.cleanup_policy.compacts:
        return replica
    stable = producers.transactions.last_stable_offset(replica.log.high_watermark)
    if Bug.COMPACTS_UNCOMMITTED in context.bugs and not producers.open_ids:
        stable = replica.log.end_offset
    aborted = producers.transactions.aborted
    log = compacted(replica.log, aborted, config, stable=stable, now_ms=context.now_ms)
    return _with(replica, *_retained(replica, log, context))


def _retained(
    replica: Replica, log: PartitionLog, context: Context
) -> tuple[PartitionLog, ProducerStates]:
    config, now_ms = replica.state.log_config, context.now_ms
    log, producers = retained(log, replica.producers, config, now_ms, context.bugs)
    if Bug.PRODUCERS_GO_WITH_RECORDS in context.bugs:
        producers = producers.with_records_from(log.log_start)
    return log, producers


def _with(replica: Replica, log: PartitionLog, producers: ProducerStates) -> Replica:
    if log is replica.log and producers is replica.producers:
        return replica
    return replace(replica, log=log, producers=producers)


def flush_log(replica: Replica, context: Context) -> Replica:
    """Returns the replica after the flush that flush.ms requires, if this flush is due. If flush.ms
    is not set, the interval is log.flush.scheduler.interval.ms.

    Kafka: LogManager.flushDirtyLogs.
    """
    every_ms = replica.state.log_config.flush_ms
    log = replica.log.flushed_at(
        context.now_ms,
        context.broker_settings.flush_check_ms if every_ms == LARGEST_MS else every_ms,
    )
    return replica if log is replica.log else replace(replica, log=log)


class Periodic(NamedTuple):
    """A function that the broker calls periodically for each replica, and the time in ms between
    two calls.
    """

    change: Callable[[Replica, Context], Replica]
    every_ms: Callable[[BrokerSettings], int]


PERIODIC: Final[Mapping[TimerKind, Periodic]] = {
    TimerKind.CHECKPOINT: Periodic(checkpoint, lambda settings: settings.checkpoint_ms),
    TimerKind.RETENTION: Periodic(retain, lambda settings: settings.retention_check_ms),
    TimerKind.COMPACTION: Periodic(compact, lambda settings: settings.cleaner_backoff_ms),
    TimerKind.FLUSH: Periodic(flush_log, lambda settings: settings.flush_check_ms),
}
