"""The producers of an old snapshot, which are read from the snapshot's file when they are needed,
and not stored in memory.

Source: ProducerStateManager of Kafka, which stores no earlier snapshot in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Final

from model.vocabulary import ProducerId
from reference_impl.disk import producer_snapshot
from reference_impl.disk.files import BadDataDir
from reference_impl.disk.log_folder import snapshot_path
from reference_impl.log.partition_log import Snapshot
from reference_impl.log.producer_state import Producer

_NUMBERS: Final = count()


@dataclass(frozen=True, slots=True, eq=False)
class StoredProducers(Mapping[ProducerId, Producer]):
    """The producers in a snapshot file, by their producer id. An access reads the file, unless the
    last access was to the same file. Only the content of the last file stays in memory.
    """

    folder: Path
    offset: int
    number: int  # unique, because a file of the same name may get other content

    def __getitem__(self, producer_id: ProducerId) -> Producer:
        return _read(self.folder, self.offset, self.number)[producer_id]

    def __iter__(self) -> Iterator[ProducerId]:
        return iter(_read(self.folder, self.offset, self.number))

    def __len__(self) -> int:
        return len(_read(self.folder, self.offset, self.number))


def without_producers(snapshot: Snapshot, folder: Path) -> Snapshot:
    """Returns the snapshot with its producers in its file, and not in memory. If the snapshot has
    producers, the file must exist.
    """
    known = snapshot.producers.producers
    if isinstance(known, StoredProducers) or not known:
        return snapshot
    stored = StoredProducers(folder, snapshot.offset, next(_NUMBERS))
    return snapshot._replace(producers=replace(snapshot.producers, producers=stored))


@lru_cache(maxsize=1)
def _read(folder: Path, offset: int, _number: int) -> Mapping[ProducerId, Producer]:
    path = snapshot_path(folder, offset)
    states = producer_snapshot.decoded(path.read_bytes())
    if states is None:
        raise BadDataDir(f"{path} is no whole snapshot; stop the broker, delete it and start again")
    return states.producers
