"""Text from anywhere as it may stand in HTML, XML and SVG, and elements made of it.

A record's value may hold any character. Those that XML has no place for (controls, half of a
surrogate pair) are written as Python would escape them, so that a reader sees what was there.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

_UNPRINTABLE: Final = re.compile(
    "[^\\t\\n\\r\\x20-\\x7e\\xa0-\\ud7ff\\ue000-\\ufdcf\\ufdf0-\\ufffd\\U00010000-\\U0010fffd]"
)


def readable(text: str) -> str:
    r"""The text without characters that XML has no place for.

    >>> readable("a\x00b")
    'a\\x00b'
    """
    return _UNPRINTABLE.sub(
        lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), text
    )


def cut(text: str, longest: int) -> str:
    """The text, or its beginning and `…`, at most so many characters."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def element(tag: str, *inside: str, **attributes: str | float | None) -> str:
    """An element of markup that is made already; `class_` is the attribute `class`, None is none.

    >>> element("text", words("a < b"), x=3.0, class_="op")
    '<text x="3" class="op">a &lt; b</text>'
    """
    told = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{told}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{told}/>"


def words(text: str) -> str:
    """Text as markup."""
    return escape(readable(text))


def _attribute(value: str | float) -> str:
    return words(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
