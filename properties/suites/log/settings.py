"""The settings of the suite `log`, by name. A setting is the configuration of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A configuration of a run: the numbers of writers, readers and topic partitions, and
    whether a run deletes records.
    """

    condition: str
    topic_partitions: int = 1
    writers: int = 2
    readers: int = 4
    is_one_instance: bool = False  # one consumer returns the records of all readers as they arrive
    deletes_records: bool = False


SETTINGS: Final = {
    "several": Setting(condition="two writers and up to four readers, one topic partition"),
    "one and one": Setting(
        condition="one writer, one reader, one topic partition", writers=1, readers=1
    ),
    "two partitions": Setting(condition="two writers, two topic partitions", topic_partitions=2),
    "one instance": Setting(condition="one consumer merges several readers", is_one_instance=True),
    "deletion": Setting(condition="records are deleted while readers read", deletes_records=True),
}
