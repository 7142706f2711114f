"""Escapes text for HTML, XML and SVG, and builds elements of these languages.

The value of a record may contain characters that XML does not allow, such as control characters and
lone surrogates. These characters are replaced by Python's escape sequences.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

_UNPRINTABLE: Final = re.compile(
    "[^\\t\\n\\r\\x20-\\x7e\\xa0-\\ud7ff\\ue000-\\ufdcf\\ufdf0-\\ufffd\\U00010000-\\U0010fffd]"
)


def readable(text: str) -> str:
    r"""Returns the text with an escape sequence for each character that XML does not allow.

    >>> readable("a\x00b")
    'a\\x00b'
    """
    return _UNPRINTABLE.sub(
        lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), text
    )


def shortened(text: str, longest: int) -> str:
    """Returns the text unchanged if it has at most `longest` characters. Otherwise returns its
    beginning, which ends with `…` and has at most `longest` characters.
    """
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def element(tag: str, *inside: str, **attributes: str | float | None) -> str:
    """Returns an element of HTML, XML or SVG. Its content `inside` must already be escaped.

    An attribute with the value None is omitted. The argument `class_` is the attribute `class`.

    >>> element("text", words("a < b"), x=3.0, class_="op")
    '<text x="3" class="op">a &lt; b</text>'
    """
    pairs = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{pairs}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{pairs}/>"


def words(text: str) -> str:
    return escape(readable(text))


def _attribute(value: str | float) -> str:
    return words(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
