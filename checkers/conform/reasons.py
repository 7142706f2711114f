"""Why Apache Kafka 4.3 and the reference broker differ: the table of all known differences.

Every difference that `urteil conform` meets must have a row here. A row that explains no difference
any more is stale, and a test asks for its removal.
"""

from __future__ import annotations

from typing import Final

from checkers.conform.reason import Reason

REASONS: Final[tuple[Reason, ...]] = ()
