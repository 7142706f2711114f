"""Replaces signs for a terminal that cannot encode them: `✗` by `x`, `≤` by `<=`.

The table has no sign whose replacement is `?`, because `?` marks an undecided verdict. A character
that is not in the table becomes `?`.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Final

HANDLER: Final = "urteil.plain_text"  # the name of the error handler

PLAIN: Final[Mapping[str, str]] = {
    "✗": "x",
    "✓": "ok",
    "·": "-",
    "…": "...",
    "→": "->",
    "←": "<-",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "∈": "in",
    "∉": "not in",
    "∧": "and",
    "∨": "or",
    "¬": "not ",
    "─": "-",
    "━": "=",
}


def register() -> None:
    """Registers an error handler for encoding in Python's `codecs`. If an encoding lacks a sign,
    the handler writes ASCII instead.
    """
    codecs.register_error(HANDLER, _plain)


def _plain(fault: UnicodeError) -> tuple[str, int]:
    # An error handler of `codecs`.
    if not isinstance(fault, UnicodeEncodeError):
        raise fault
    lacking = fault.object[fault.start : fault.end]
    return "".join(PLAIN.get(sign, "?") for sign in lacking), fault.end
