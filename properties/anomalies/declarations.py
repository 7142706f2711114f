"""What the user says of a history that no observation in it can tell.

Declarations do two things. Some are *conditions*: words under which an anomaly's `permits` says why
it is no fault. Some complete the history (`applied`): polls that do not say their isolation level
have the declared one.

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
    """How the clients of a history were set up, and what to look for in it.

    `ww_deps` has cycles follow write dependencies, `rw_deps` anti-dependencies too. `isolation` is
    the level of polls that do not say their own. Of the topics in `compacted` any record may be
    gone. A history is `finished` if its readers read every log to the end, at last. `jepsen` judges
    as that checker does: an empty history is invalid, and what it does not look for is permitted.
    """

    sub_via: frozenset[SubVia] = frozenset({"assign"})
    ww_deps: bool = False
    rw_deps: bool = False
    isolation: Isolation = "read_committed"
    compacted: frozenset[str] = frozenset()  # topics, or keys that name none
    finished: bool = True
    jepsen: bool = False

    def conditions(self) -> frozenset[str]:
        """The words of `permits` and `only_with` that are true here."""
        told = {
            ALWAYS: True,
            SUBSCRIBE: "subscribe" in self.sub_via,
            WW_DEPS: self.ww_deps,
            RW_DEPS: self.rw_deps,
            JEPSEN: self.jepsen,
            READ_UNCOMMITTED: self.isolation == "read_uncommitted",
            UNFINISHED: not self.finished,
        }
        return frozenset(condition for condition, true in told.items() if true)

    def compacts(self, key: str) -> bool:
        """Records of the key may be gone because a later one has the same record key."""
        return bool(self.compacted) and not self.compacted.isdisjoint({key, topic_of(key)})

    def applied(self, history: History) -> History:
        """The history in which every operation says its isolation level."""
        return tuple(
            replace(operation, isolation=operation.isolation or self.isolation)
            for operation in history
        )


NOTHING_DECLARED: Final = Declarations()
