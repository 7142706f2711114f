"""Lists the logs in the folders that the user names, and reads the small files next to the
segments.

This tree shows the folder of a broker. Each line has a name, and the meaning of the file or folder:

    A/                              a broker's `log.dirs` folder: one replica of each partition
      replication-offset-checkpoint   high watermarks, one line per partition
      cleaner-offset-checkpoint       offsets up to which the log cleaner compacted, one line each
      .kafka_cleanshutdown            exists after a clean shutdown, absent while the broker runs
      orders-0/                       a topic partition
        00000000000000000042.log        a segment, named after its first offset
        00000000000000000042.txnindex   transactions aborted in the segment, if any
        00000000000000000042.snapshot   producer state below that offset
        leader-epoch-checkpoint         leader epochs and the offsets where they start

The user may also name the folder of one partition. In this case, the checkpoints are read from its
parent folder. Three kinds of folders are skipped:

- a folder named `…-delete`, which the broker deletes;
- a folder named `…-future`, which the broker still fills;
- a folder named `…-stray`, which is no replica of the partition any more.

Source: LogManager, OffsetCheckpointFile, LeaderEpochCheckpointFile, TransactionIndex and
ProducerStateManager of Kafka.
Simplified: an incomplete entry at the end of a transaction index is skipped. The check
`aborted-index` then reports an abort marker that has no entry. A snapshot with a wrong checksum is
ignored, because a broker ignores it, too.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

import google_crc32c

from model.faults import InputFault
from properties.log_audit.log import Aborted, LogMetadata, ProducerState, Snapshot

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANED: Final = "cleaner-offset-checkpoint"
STOPPED: Final = ".kafka_cleanshutdown"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
_PARTITION: Final = re.compile(r"[a-zA-Z0-9._-]+-\d+")
_SEGMENT: Final = re.compile(r"\d{20}\.log")
_SNAPSHOT: Final = re.compile(r"\d{20}\.snapshot")
SNAPSHOT: Final = struct.Struct(">hIi")  # version, checksum of what follows, number of producers
PRODUCER: Final = struct.Struct(">qhiqiqiq")
_SIGNED_FROM: Final = 6
ABORTED: Final = struct.Struct(">hqqqq")  # version, producer id, first, last, last stable offset


class UnreadableLogDir(InputFault):
    """Raised for a folder that has no logs, and for a malformed file next to the logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A segment file of a log; a log is one replica of a topic partition."""

    path: Path
    partition: int
    log: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A topic partition. `logs` and `segments` are ranges of indexes into the tuples `logs` and
    `segments` of a `LogDirs`.
    """

    name: str
    logs: range
    segments: range


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirs:
    """All logs, segments and topic partitions of an audit. They are sorted by topic partition, then
    by replica, then by offset.

    The number of a log, a segment or a topic partition is its index in its tuple.
    """

    logs: tuple[LogMetadata, ...]
    first_segments: tuple[int, ...]  # of each log
    segments: tuple[Segment, ...]
    partitions: tuple[Partition, ...]

    @classmethod
    def of(cls, found: Iterable[LogMetadata]) -> LogDirs:
        logs = sorted(found, key=lambda log: (log.partition, log.replica))
        firsts, segments, partitions = list[int](), list[Segment](), list[Partition]()
        for name, its in groupby(enumerate(logs), key=lambda numbered: numbered[1].partition):
            first_log, first_segment = len(firsts), len(segments)
            for number, log in its:
                firsts.append(len(segments))
                segments += (
                    Segment(
                        path=Path(log.replica, log.partition, file),
                        partition=len(partitions),
                        log=number,
                        number=firsts[-1] + index,
                    )
                    for index, file in enumerate(log.segments)
                )
            of_logs = range(first_log, len(firsts))
            of_segments = range(first_segment, len(segments))
            partitions.append(Partition(name=name, logs=of_logs, segments=of_segments))
        return cls(
            logs=tuple(logs),
            first_segments=tuple(firsts),
            segments=tuple(segments),
            partitions=tuple(partitions),
        )


def log_dirs(folders: Sequence[Path]) -> LogDirs:
    """Returns the logs in the folders.

    A folder is one directory of a broker's `log.dirs`, or the folder of one partition in such a
    directory. Raises UnreadableLogDir for a folder that is no log directory, for a malformed file,
    and for a log that is named twice.
    """
    logs: list[LogMetadata] = []
    replicas: dict[Path, str] = {}
    for folder in folders:
        found = list(_logs(folder))
        logs += found
        for log in found:
            location = Path(log.replica, log.partition).resolve()
            if location in replicas:
                raise UnreadableLogDir(
                    f"{folder}: {location} is named twice; name each folder once"
                )
            replicas[location] = log.replica
    return LogDirs.of(logs)


def _logs(folder: Path) -> Iterator[LogMetadata]:
    if not folder.is_dir():
        fault = "is not a folder" if folder.exists() else "does not exist"
        raise UnreadableLogDir(f"{folder} {fault}; name the log.dirs folder of a broker")
    if _is_partition(folder):
        yield _beside(folder.parent, folder)
        return
    try:
        inside = sorted(one for one in folder.iterdir() if one.is_dir())
    except OSError as error:
        raise UnreadableLogDir(f"{folder}: {error.strerror}; check its permissions") from error
    partitions = [one for one in inside if _is_partition(one)]
    if not partitions and not (folder / "meta.properties").exists():
        below = [str(one) for one in inside if any(map(_is_partition, _subfolders(one)))]
        fix = f"name {', '.join(below)}" if below else "name the log.dirs folder of a broker"
        raise UnreadableLogDir(
            f"{folder} contains no topic partition folder with a *.log file; {fix}"
        )
    for partition in partitions:
        yield _beside(folder, partition)


def _subfolders(folder: Path) -> list[Path]:
    return [one for one in folder.iterdir() if one.is_dir()]


def _is_partition(folder: Path) -> bool:
    return _PARTITION.fullmatch(folder.name) is not None and bool(_segments(folder))


def _segments(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.glob("*.log") if _SEGMENT.fullmatch(one.name))


def _beside(replica: Path, folder: Path) -> LogMetadata:
    partition = folder.name
    for name in _segments(folder):
        if not os.access(folder / name, os.R_OK):
            raise UnreadableLogDir(f"{folder / name} is not readable; check its permissions")
    return LogMetadata(
        replica=str(replica),
        partition=partition,
        segments=tuple(_segments(folder)),
        high_watermark=_offsets(replica / HIGH_WATERMARKS).get(partition),
        cleaned_to=_offsets(replica / CLEANED).get(partition, 0),
        leader_epochs=_leader_epochs(folder / LEADER_EPOCHS),
        aborted=_aborted(folder),
        snapshot=_snapshot(folder),
        stopped=(replica / STOPPED).exists(),
    )


# ---------------------------------------------------------------- files beside the logs


def _offsets(file: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, words in _checkpointed(file, words=3):
        topic, index, offset = words
        try:
            found[f"{topic}-{int(index)}"] = int(offset)
        except ValueError:
            raise _malformed(file, number, " ".join(words)) from None
    return found


def _leader_epochs(file: Path) -> tuple[tuple[int, int], ...] | None:
    if not file.exists():
        return None
    found: list[tuple[int, int]] = []
    for number, words in _checkpointed(file, words=2):
        try:
            found.append((int(words[0]), int(words[1])))
        except ValueError:
            raise _malformed(file, number, " ".join(words)) from None
    return tuple(found)


def _checkpointed(file: Path, *, words: int) -> Iterator[tuple[int, list[str]]]:
    if not file.exists():
        return
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines:
        return  # a broker that died before its first write leaves the file empty
    if lines[0] != "0":
        raise _malformed(file, 1, lines[0])
    if len(lines) < 2 or lines[1] != str(len(lines) - 2):
        raise UnreadableLogDir(
            f"{file}, line 2: the count is not {max(len(lines) - 2, 0)}, the number of lines that "
            "follow; the file is cut short: copy it again, or move it away to audit without it"
        )
    for number, line in enumerate(lines[2:], 3):
        if len(line.split()) != words:
            raise _malformed(file, number, line)
        yield number, line.split()


def _malformed(file: Path, number: int, line: str) -> UnreadableLogDir:
    return UnreadableLogDir(
        f"{file}, line {number}: {line[:40]!r} is no line of a checkpoint; copy the file again, or "
        "move it away to audit without it"
    )


def _aborted(folder: Path) -> tuple[Aborted, ...] | None:
    indexes = sorted(folder.glob("*.txnindex"))
    if not indexes and not any(folder.glob("*.index")):
        return None
    return tuple(
        Aborted(
            segment=index.with_suffix(".log").name,
            producer_id=producer_id,
            first_offset=first_offset,
            last_offset=last_offset,
        )
        for index in indexes
        for _, producer_id, first_offset, last_offset, _ in _entries(index.read_bytes())
    )


def _entries(data: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    whole = len(data) - len(data) % ABORTED.size
    yield from ABORTED.iter_unpack(data[:whole])


def _snapshot(folder: Path) -> Snapshot | None:
    files = (one for one in folder.glob("*.snapshot") if _SNAPSHOT.fullmatch(one.name))
    for file in sorted(files, reverse=True):
        data = file.read_bytes()
        if len(data) >= SNAPSHOT.size:
            version, crc, count = SNAPSHOT.unpack_from(data)
            whole = len(data) == SNAPSHOT.size + count * PRODUCER.size
            if version == 1 and whole and google_crc32c.value(data[_SIGNED_FROM:]) == crc:
                return Snapshot(
                    offset=int(file.stem),
                    producers=tuple(map(_producer, PRODUCER.iter_unpack(data[SNAPSHOT.size :]))),
                )
    return None


def _producer(of: tuple[int, ...]) -> ProducerState:
    producer_id, producer_epoch, last_sequence, last_offset, _, _, coordinator_epoch, first = of
    return ProducerState(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        last_sequence=last_sequence,
        last_offset=last_offset,
        coordinator_epoch=coordinator_epoch,
        first_offset=first,
    )
