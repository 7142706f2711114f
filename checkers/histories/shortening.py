"""Shortens long texts for a report, to their beginning, their length and a part of their SHA-256.

So the short texts of two different values differ, too. The Parquet files of a run folder have the
complete texts.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from typing import Any, Final, TypeVar

import pyarrow as pa

from checkers.histories.columnar.arrow import compute

LONGEST: Final = 200  # characters; a longer text is cut
BEGINNING: Final = 40  # characters that remain of a longer text

ShownT = TypeVar("ShownT")


def shortened(shown: ShownT) -> ShownT:
    """Returns a copy of the dataclass or tuple in which each long text is shortened, also inside
    nested tuples.

    >>> shortened(("a", 1, "b" * 10_000_000))
    ('a', 1, 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (10,000,000 characters, SHA-256 ac01b2a0)')
    """
    short: ShownT = _short(shown)
    return short


def with_short_texts(rows: pa.Table) -> pa.Table:
    """Returns the table with each long text shortened."""
    for number, field in enumerate(rows.schema):
        if not pa.types.is_string(field.type):
            continue
        texts = rows[number]
        # most tables have no long text, and then no text becomes a Python object
        if (compute.max(compute.utf8_length(texts)).as_py() or 0) > LONGEST:
            short = pa.array(map(_short, texts.to_pylist()), field.type)
            rows = rows.set_column(number, field, short)
    return rows


def _short(shown: Any) -> Any:
    if isinstance(shown, str):
        return shown if len(shown) <= LONGEST else _cut(shown)
    if isinstance(shown, tuple):
        return tuple(_short(part) for part in shown)
    if not is_dataclass(shown) or isinstance(shown, type):
        return shown
    parts = {field.name: getattr(shown, field.name) for field in fields(shown)}
    changed = {name: _short(part) for name, part in parts.items()}
    return shown if changed == parts else replace(shown, **changed)


def _cut(text: str) -> str:
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{text[:BEGINNING]}… ({len(text):,} characters, SHA-256 {digest})"
