"""The data directory of a cluster. It has a folder for each broker, and the cluster metadata:

    DIR/.lock                      held while the cluster runs
    DIR/cluster-metadata.ndjson    topics, partition registrations, broker epochs
    DIR/broker-1/                  the log directory of broker 1, in Kafka's layout

A broker that runs in a separate process opens only its own folder, and locks the file .lock in this
folder (DIR/broker-1/.lock for broker 1).

The host of a node is the program that runs the node. After each step of the node, the host writes
the node's new state, and then delivers the messages of the step. Each record is thus written before
it is acknowledged or counts as replicated. Each partition registration is written before a broker
acts on it. A write is flushed only if flush.messages or flush.ms requires a flush. As in Kafka,
records that were not flushed survive if the process is killed. A power loss can destroy such
records, even if they were acknowledged with acks=all. The cluster metadata, the checkpoints and the
segments that a compaction wrote are always flushed.

Source: LogManager, UnifiedLog.append of Kafka.
Simplified: a broker has only one log directory. A segment is not flushed when it is closed. A flush
blocks the step of the broker, whereas Kafka flushes in a background thread for flush.ms.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from uuid import UUID, uuid5

from model.vocabulary import BrokerEpoch, BrokerId, Offset, TopicPartition
from reference_impl.broker.broker import Broker, Disk
from reference_impl.disk import checkpoints, log_folder
from reference_impl.disk.cluster_metadata import ClusterMetadata
from reference_impl.disk.deferred_deletion import OF_FOLDER, DeferredDeletion, mark_folder
from reference_impl.disk.files import BadDataDir, delete_files, flush, flush_folder, make_folder
from reference_impl.disk.recovery import Checkpointed, Note, recovered
from reference_impl.disk.stored_batches import with_stored_segments
from reference_impl.log.partition_log import FIRST_OFFSET, PartitionLog
from reference_impl.partition.roles import Replica
from reference_impl.protocol.controller import MetadataImage

LOCK: Final = ".lock"
DELETED: Final = -1  # the incarnation of a log whose topic was deleted while the broker was down
METADATA: Final = "cluster-metadata.ndjson"
_DIRECTORY_IDS: Final = UUID("6f0a0f3e-0c0e-4d4e-8d57-75727465696c")


@dataclass(slots=True)
class LogDirectory:
    """The log directory of one broker. The object remembers the logs and the offsets that the files
    contain, so that only changes are written.
    """

    folder: Path
    topic_id: Callable[[str, int], UUID]
    incarnations: Mapping[str, int] = field(default_factory=dict)  # by topic, at the time of `load`
    logs: dict[TopicPartition, PartitionLog] = field(default_factory=dict)
    recovery_points: dict[TopicPartition, Offset] = field(default_factory=dict)
    _seen: Mapping[TopicPartition, object] = field(default_factory=dict)
    _deletion: DeferredDeletion = field(default_factory=DeferredDeletion)

    def load(self, note: Note) -> None:
        offsets = {
            name: checkpoints.read_offsets(self.folder / name)
            for name in (
                checkpoints.HIGH_WATERMARKS,
                checkpoints.LOG_STARTS,
                checkpoints.RECOVERY_POINTS,
                checkpoints.CLEANED,
            )
        }
        self.logs, self._seen = {}, {}
        self.recovery_points = offsets[checkpoints.RECOVERY_POINTS]
        for place in _partitions(self.folder):
            known = Checkpointed(
                **{
                    name: offsets[file].get(place, FIRST_OFFSET)
                    for name, file in _CHECKPOINTED.items()
                }
            )
            log = recovered(self.folder / str(place), known, note)
            self.logs[place] = replace(log, incarnation=self._incarnation(place))
        self._checkpoint()

    def _incarnation(self, place: TopicPartition) -> int:
        # A topic that is deleted and created again gets another incarnation, and another topic id.
        file = self.folder / str(place) / checkpoints.PARTITION_METADATA
        now = self.incarnations.get(place.topic, 0)
        kept = checkpoints.read_topic_id(file)
        return now if kept in {None, self.topic_id(place.topic, now)} else DELETED

    def keep(self, broker: Broker, now_ms: int) -> Broker:
        """Writes the changed logs of `broker` to disk, deletes the files whose deletion is due, and
        returns the broker.

        The returned broker may have fewer record batches in memory: it reads the batches of closed
        segments from disk when it needs them.
        """
        self._deletion.run(now_ms)
        if broker.replicas is self._seen:
            return broker
        logs, is_checkpointed = self.logs, True
        smaller: dict[TopicPartition, Replica] = {}
        for place, replica in broker.replicas.items():
            before, after = logs.get(place), replica.log
            if after is before:
                continue
            gone = self._write(place, after)
            self._deletion.add(gone, now_ms + replica.state.log_config.file_delete_delay_ms)
            if before is not None:
                folder = self.folder / str(place)
                log_folder.index_aborts(folder, before, after, replica.producers.transactions)
            unflushed = after.end_offset - self._flushed(place)
            has_many = unflushed >= replica.state.log_config.flush_messages
            if has_many or (before is not None and _was_flushed(before, after)):
                self._flush(place, after)
            is_checkpointed &= before is not None and _checkpoints(before) == _checkpoints(after)
            if before is None or len(before.segments) != len(after.segments):
                logs[place] = with_stored_segments(after, self.folder / str(place))
                if logs[place] is not after:
                    smaller[place] = replace(replica, log=logs[place])
        if removed := logs.keys() - broker.replicas.keys() - broker.unassigned.keys():
            delay_ms = broker.image.defaults.value("file_delete_delay_ms")
            for place in removed:
                self._deletion.add([self._mark_deleted(place)], now_ms + delay_ms)
            is_checkpointed = False
        if not is_checkpointed:
            self._checkpoint()
        if smaller:
            broker = replace(broker, replicas={**broker.replicas, **smaller})
        self._seen = broker.replicas
        return broker

    def keep_logs(self, logs: Disk) -> None:
        """Writes the logs of a stopped broker to disk. After a simulated power loss, `logs` do not
        have the lost records, so these records are removed from the files.
        """
        for place, log in logs.items():
            self._write(place, log)  # the next start deletes files that are not part of the log
        self._checkpoint()

    def close(self, broker: Broker, now_ms: int) -> None:
        """Writes and flushes all logs of the broker, and marks its shutdown as clean."""
        broker = self.keep(broker, now_ms)
        for place, replica in broker.replicas.items():
            self.logs[place] = replica.log.on_disk()
            self._flush(place, replica.log)
            for path in log_folder.close(self.folder / str(place), replica.log):
                flush(path)
        self._checkpoint()
        checkpoints.write_clean_shutdown(self.folder, broker.broker_epoch)

    def _write(self, place: TopicPartition, after: PartitionLog) -> list[Path]:
        # Returns the renamed files, which the caller must delete.
        folder, before = self.folder / str(place), self.logs.get(place)
        gone = list[Path]()
        if before is not None and before.incarnation != after.incarnation:
            gone.append(self._mark_deleted(place))
            before = None
        if before is None:
            log_folder.create(folder, after)
            metadata = folder / checkpoints.PARTITION_METADATA
            checkpoints.write_partition_metadata(
                metadata, self.topic_id(place.topic, after.incarnation)
            )
        else:
            if after.end_offset < self._flushed(place):
                # The new end may be overwritten by records that are not flushed.
                self.recovery_points[place] = after.end_offset
                self._checkpoint_recovery_points()
            gone += log_folder.write(folder, before, after)
        self.logs[place] = after
        return gone

    def _flushed(self, place: TopicPartition) -> Offset:
        return self.recovery_points.get(place, FIRST_OFFSET)

    def _flush(self, place: TopicPartition, log: PartitionLog) -> None:
        folder = self.folder / str(place)
        for path in log_folder.files_from(folder, log, self._flushed(place)):
            flush(path)
        # The names of new files, and of the folder itself.
        flush_folder(folder)
        if not self._flushed(place):
            flush_folder(self.folder)
        self.recovery_points[place] = log.end_offset

    def _mark_deleted(self, place: TopicPartition) -> Path:
        del self.logs[place]
        self.recovery_points.pop(place, None)
        return mark_folder(self.folder / str(place))

    def _checkpoint(self) -> None:
        logs = self.logs
        for name, offsets in (
            (checkpoints.HIGH_WATERMARKS, {place: log.checkpoint for place, log in logs.items()}),
            (checkpoints.LOG_STARTS, _positive(logs, lambda log: log.start_checkpoint)),
            (checkpoints.CLEANED, _positive(logs, lambda log: log.cleaned)),
        ):
            checkpoints.write_offsets(self.folder / name, offsets)
        self._checkpoint_recovery_points()

    def _checkpoint_recovery_points(self) -> None:
        # A recovery point on disk may be too low, but never too high.
        offsets = {
            place: min(self._flushed(place), log.end_offset) for place, log in self.logs.items()
        }
        checkpoints.write_offsets(self.folder / checkpoints.RECOVERY_POINTS, offsets)


_CHECKPOINTED: Final = {
    "high_watermark": checkpoints.HIGH_WATERMARKS,
    "log_start": checkpoints.LOG_STARTS,
    "recovery_point": checkpoints.RECOVERY_POINTS,
    "cleaned": checkpoints.CLEANED,
}


@dataclass(slots=True)
class DataDir:
    folder: Path
    note: Note
    metadata: ClusterMetadata
    _cluster_id: str
    _topic_id: Callable[[str, int], UUID]
    _lock: int
    _brokers: dict[BrokerId, LogDirectory] = field(default_factory=dict)

    @classmethod
    def open(
        cls, folder: Path, *, cluster_id: str, topic_id: Callable[[str, int], UUID], note: Note
    ) -> DataDir:
        """Opens the data directory, or creates it if it does not exist. Raises BadDataDir if the
        directory cannot be used.

        `topic_id` maps the name and the incarnation of a topic to the topic's id. `note` is called
        with a message for each repair.
        """
        lock = _locked(folder)
        metadata = ClusterMetadata.open(folder / METADATA)
        return cls(folder, note, metadata, cluster_id, topic_id, lock)

    @classmethod
    def of_broker(
        cls,
        folder: Path,
        broker_id: BrokerId,
        image: MetadataImage,
        *,
        cluster_id: str,
        topic_id: Callable[[str, int], UUID],
        note: Note,
    ) -> DataDir:
        """Opens the folder of one broker, or creates it if it does not exist. Raises BadDataDir if
        the folder cannot be used.

        `image` is the controller's metadata image. `open` explains `topic_id` and `note`.
        """
        lock = _locked(folder / f"broker-{broker_id}")
        return cls(folder, note, ClusterMetadata.of(image), cluster_id, topic_id, lock)

    def start_broker(self, broker_id: BrokerId) -> tuple[Disk, BrokerEpoch]:
        """Returns the broker's logs, and the broker epoch of its previous shutdown. The epoch is -1
        if this shutdown was not clean.

        Raises BadDataDir if a file is unreadable.
        """
        folder = self.folder / f"broker-{broker_id}"
        make_folder(folder)
        flush_folder(self.folder)
        properties = folder / checkpoints.META_PROPERTIES
        if not checkpoints.check_meta_properties(properties, self._cluster_id, broker_id):
            directory = uuid5(_DIRECTORY_IDS, str(folder))
            checkpoints.write_meta_properties(properties, self._cluster_id, broker_id, directory)
        epoch = checkpoints.take_clean_shutdown(folder)
        places = self.metadata.image.topic_partitions
        incarnations = {place.topic: state.incarnation for place, state in places}
        kept = LogDirectory(folder, self._topic_id, incarnations)
        kept.load(self.note)
        self._brokers[broker_id] = kept
        return dict(kept.logs), epoch

    def keep_broker(self, broker_id: BrokerId, broker: Broker, now_ms: int) -> Broker:
        """Writes the changed logs of the broker to disk, and returns the broker (see
        `LogDirectory.keep`). Raises OSError if the disk fails.
        """
        return self._brokers[broker_id].keep(broker, now_ms)

    def keep_metadata(self, image: MetadataImage, starts: int) -> None:
        """Writes the metadata image to disk. `starts` is the number of times that brokers of this
        cluster were started. Raises OSError if the disk fails.
        """
        self.metadata.keep(image, starts)

    def keep_logs(self, broker_id: BrokerId, logs: Disk) -> None:
        self._brokers[broker_id].keep_logs(logs)

    def stop_broker(self, broker_id: BrokerId, broker: Broker, now_ms: int) -> None:
        self._brokers[broker_id].close(broker, now_ms)

    def close(self, running: Mapping[BrokerId, Broker], now_ms: int) -> None:
        """Writes and flushes the logs of the running brokers, marks their shutdown as clean, and
        unlocks the data directory.
        """
        for broker_id, broker in running.items():
            self.stop_broker(broker_id, broker, now_ms)
        os.close(self._lock)


def _locked(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        flush_folder(folder.parent)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise BadDataDir(
            f"{folder}: {error.strerror}; name a folder that can be written, or a new one"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise BadDataDir(
            f"{folder} is used by another process; stop it, or name another data directory"
        ) from None
    return lock


def _partitions(folder: Path) -> Iterator[TopicPartition]:
    for one in sorted(folder.iterdir()):
        topic, _, index = one.name.rpartition("-")
        if one.is_dir() and one.name.endswith(OF_FOLDER):
            delete_files(one)
        elif one.is_dir() and topic and index.isdecimal():
            yield TopicPartition(topic, int(index))


def _was_flushed(before: PartitionLog, after: PartitionLog) -> bool:
    return after.timed_flush.end_offset > before.timed_flush.end_offset


def _checkpoints(log: PartitionLog) -> tuple[Offset, Offset, Offset]:
    return log.checkpoint, log.start_checkpoint, log.cleaned


def _positive(
    logs: Mapping[TopicPartition, PartitionLog], offset: Callable[[PartitionLog], Offset]
) -> dict[TopicPartition, Offset]:
    return {place: at for place, log in logs.items() if (at := offset(log)) > FIRST_OFFSET}
