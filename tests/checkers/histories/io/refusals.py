"""Asserts how a malformed history is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkers.histories.io.reading import whole
from checkers.histories.io.unreadable import UnreadableHistory


def assert_refused(path: Path, pattern: str) -> None:
    with pytest.raises(UnreadableHistory, match=re.escape(str(path))) as fault:
        whole(path)
    message = str(fault.value)
    assert re.search(pattern, message), message
    assert "\n" not in message
