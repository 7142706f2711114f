"""Declarations of the user about a history: facts that the history itself does not record.

A declaration may permit an anomaly. A permitted anomaly is still reported, but it is not a
violation.

Source: jepsen.tests.kafka, the test's flags :sub-via and :ww-deps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from model.histories import History, Isolation, topic_of

SubVia = Literal["assign", "subscribe"]
ALWAYS: Final = "always"
SUBSCRIBE: Final = "subscribe"
WW_DEPS: Final = "ww-deps"
RW_DEPS: Final = "rw-deps"
JEPSEN: Final = "jepsen"
READ_UNCOMMITTED: Final = "read_uncommitted"
UNFINISHED: Final = "unfinished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """The declarations of the user about a history: its clients, its topics, and options of the
    analysis.

    - `ww_deps` adds write dependencies to the cycle search.
    - `rw_deps` adds anti-dependencies to the cycle search.
    - `isolation` is the isolation level of each poll for which the history records no level.
    - `compacted` has the topics from which log compaction may have removed records.
    - `finished` is True if the readers read every log to its end.
    - `jepsen` makes the analysis apply the rules of Jepsen's checker.
    """

    sub_via: frozenset[SubVia] = frozenset({"assign"})
    ww_deps: bool = False
    rw_deps: bool = False
    isolation: Isolation = "read_committed"
    compacted: frozenset[str] = frozenset()  # topics, or keys that name none
    finished: bool = True
    jepsen: bool = False

    def conditions(self) -> frozenset[str]:
        """Returns the names of the conditions that the declarations fulfil, such as `ww-deps`.

        An anomaly may be permitted under a condition. The condition `always` is part of every
        result: an anomaly that is permitted under `always` is permitted in every history.
        """
        conditions = {
            ALWAYS: True,
            SUBSCRIBE: "subscribe" in self.sub_via,
            WW_DEPS: self.ww_deps,
            RW_DEPS: self.rw_deps,
            JEPSEN: self.jepsen,
            READ_UNCOMMITTED: self.isolation == "read_uncommitted",
            UNFINISHED: not self.finished,
        }
        return frozenset(condition for condition, true in conditions.items() if true)

    def compacts(self, key: str) -> bool:
        """Returns True if log compaction may have removed records of the topic partition `key`.

        The user declares this for the topic partition or for its topic.
        """
        return bool(self.compacted) and not self.compacted.isdisjoint({key, topic_of(key)})

    def applied(self, history: History) -> History:
        return tuple(
            operation if operation.isolation else replace(operation, isolation=self.isolation)
            for operation in history
        )


NOTHING_DECLARED: Final = Declarations()
