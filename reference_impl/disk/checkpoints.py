"""Reads and writes the small text files of a broker's log directory, in Kafka's formats. The table
has each file and its content:

    meta.properties                    cluster id, node id, directory id
    replication-offset-checkpoint      the high watermark of each partition
    log-start-offset-checkpoint        the log start of each partition with deleted records
    recovery-point-offset-checkpoint   the offset below which each partition was flushed
    cleaner-offset-checkpoint          the offset below which each partition was compacted
    .kafka_cleanshutdown               the broker epoch; the file exists only after a clean shutdown
    orders-0/partition.metadata        the topic id of partition orders-0
    orders-0/leader-epoch-checkpoint   the partition's leader epochs, and their first offsets

A new version of a file is flushed before it replaces the old version. The file of leader epochs is
not flushed.

Source: CheckpointFile, OffsetCheckpointFile, LeaderEpochCheckpointFile, PartitionMetadataFile,
CleanShutdownFileHandler and MetaProperties of Kafka.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from uuid import UUID

from model.vocabulary import BrokerEpoch, BrokerId, LeaderEpoch, Offset, TopicPartition
from reference_impl.disk.files import BadDataDir, delete, flush_folder, replace_file
from reference_impl.log.partition_log import EpochStart
from reference_impl.protocol.messages import UNKNOWN_BROKER_EPOCH

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
CLEANED: Final = "cleaner-offset-checkpoint"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
META_PROPERTIES: Final = "meta.properties"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
_VERSION: Final = "0"


def write_offsets(file: Path, offsets: Mapping[TopicPartition, Offset]) -> None:
    _write(file, (f"{place.topic} {place.index} {at}" for place, at in offsets.items()))


def read_offsets(file: Path) -> dict[TopicPartition, Offset]:
    """Returns the offset of each partition in the file. Returns {} if the file does not exist.
    Raises BadDataDir if the file is malformed.
    """
    found: dict[TopicPartition, Offset] = {}
    for line in _lines(file):
        try:
            topic, number, offset = line.split()
            found[TopicPartition(topic, int(number))] = Offset(int(offset))
        except ValueError:
            raise _malformed(file, line) from None
    return found


def write_leader_epochs(file: Path, epochs: Iterable[EpochStart]) -> None:
    """Writes the leader epochs to the file, without a flush. After a power loss, the recovery of
    the log can read the leader epochs from the record batches.
    """
    lines = (f"{entry.leader_epoch} {entry.start_offset}" for entry in epochs)
    _write(file, lines, flushes=False)


def read_leader_epochs(file: Path) -> tuple[EpochStart, ...]:
    """Returns the leader epochs in the file, with their first offsets. Returns () if the file does
    not exist. Raises BadDataDir if the file is malformed.
    """
    found: list[EpochStart] = []
    for line in _lines(file):
        try:
            epoch, offset = line.split()
            found.append(EpochStart(LeaderEpoch(int(epoch)), Offset(int(offset))))
        except ValueError:
            raise _malformed(file, line) from None
    return tuple(found)


def write_partition_metadata(file: Path, topic_id: UUID) -> None:
    replace_file(file, f"version: 0\ntopic_id: {_text(topic_id)}".encode())


def read_topic_id(file: Path) -> UUID | None:
    """Returns the topic id in the file, or None if the file is missing or has no topic id. Raises
    BadDataDir if the id is malformed.
    """
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if "topic_id" not in fields:
        return None
    try:
        return UUID(bytes=base64.urlsafe_b64decode(fields["topic_id"] + "=="))
    except ValueError:
        raise _malformed(file, fields["topic_id"]) from None


def write_meta_properties(file: Path, cluster_id: str, node_id: BrokerId, directory: UUID) -> None:
    lines = (
        f"node.id={node_id}",
        f"directory.id={_text(directory)}",
        "version=1",
        f"cluster.id={cluster_id}",
    )
    replace_file(file, ("\n".join(lines) + "\n").encode())


def check_meta_properties(file: Path, cluster_id: str, node_id: BrokerId) -> bool:
    """Returns True if the file names this cluster and this broker, and False if the file does not
    exist. Raises BadDataDir if the file names another cluster or another broker.
    """
    if not file.exists():
        return False
    lines = file.read_text(encoding="utf-8").splitlines()
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    for name, value in (("cluster.id", cluster_id), ("node.id", str(node_id))):
        if fields.get(name) != value:
            raise BadDataDir(
                f"{file}: {name} is {fields.get(name)}, but must be {value}; "
                "name the data directory of this cluster, or a new one"
            )
    return True


def write_clean_shutdown(folder: Path, broker_epoch: BrokerEpoch) -> None:
    text = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    replace_file(folder / CLEAN_SHUTDOWN, text.encode())


def take_clean_shutdown(folder: Path) -> BrokerEpoch:
    """Returns the broker epoch in the file that marks a clean shutdown, and deletes the file.
    Returns -1 if the file does not exist. Raises BadDataDir if the file is malformed.
    """
    file = folder / CLEAN_SHUTDOWN
    if not file.exists():
        return UNKNOWN_BROKER_EPOCH
    text = file.read_text(encoding="utf-8")
    delete(file)
    flush_folder(folder)
    try:
        return BrokerEpoch(int(json.loads(text)["brokerEpoch"]))
    except (ValueError, KeyError, TypeError):
        raise _malformed(file, text) from None


def _write(file: Path, lines: Iterable[str], *, flushes: bool = True) -> None:
    lines = [*lines]
    text = "\n".join((_VERSION, str(len(lines)), *lines)) + "\n"
    replace_file(file, text.encode(), flushes=flushes)


def _lines(file: Path) -> list[str]:
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    is_whole = text.endswith("\n") and lines[1:2] == [str(len(lines) - 2)]
    if lines and (lines[0] != _VERSION or not is_whole):
        raise _malformed(file, " ".join(lines[:2]))
    return lines[2:]


def _malformed(file: Path, line: str) -> BadDataDir:
    return BadDataDir(
        f"{file}: {line[:40]!r} does not belong in this checkpoint; restore the file, or delete it"
    )


def _text(value: UUID) -> str:
    # As Kafka writes an id: base64 for URLs, without padding.
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
