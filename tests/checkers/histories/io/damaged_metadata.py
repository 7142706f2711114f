"""Damages of a table's metadata: some bytes of a file, or one value of a JSON document."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from checkers.histories.io.unreadable import UnreadableHistory

ODD_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    2**80,
    1.5,
    "",
    "\0",
    "ftp://a/b",
    "s3://a:b@c/d",
    [],
    [[]],
    {},
)


def damaged_bytes(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content))
    odd = rng.choice((b"", rng.randbytes(1), rng.randbytes(3), b"\xff" * 9, b"null", b"[]"))
    return content[:at] + odd + content[at + max(1, len(odd)) :]


def with_odd_values(document: Any) -> Iterator[Any]:
    """Yields copies of the document. In each copy, one value is replaced by one of the odd
    values.
    """
    for path in _paths(document):
        for odd in ODD_VALUES:
            *above, last = ("document", *path)
            changed = inside = {"document": copy.deepcopy(document)}
            for key in above:
                inside = inside[key]
            inside[last] = odd
            yield changed["document"]


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    yield ()
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        for path in _paths(item):
            yield (key, *path)


def assert_never_a_crash(read: Callable[[], object], file: Path, contents: Iterable[bytes]) -> None:
    """Asserts that `read` succeeds or refuses its input, for each content of the file."""
    outcome, original = Counter[str](), file.read_bytes()
    for count, content in enumerate(contents, 1):
        file.write_bytes(content)
        try:
            read()
            outcome["read"] += 1
        except UnreadableHistory as fault:
            outcome["refused"] += "; " in str(fault)  # the next move follows
        assert outcome.total() == count
    file.write_bytes(original)
    assert min(outcome["read"], outcome["refused"]) >= 10, outcome
