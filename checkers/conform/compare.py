"""Compares two answers to the same request field by field. Both answers are in normal form (see
`checkers.conform.normal`): symbols replace the values that a system chooses freely, such as ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.steps import Send

ABSENT: Final = "(absent)"
NO_FIELDS: Final[Mapping[str, Any]] = {}
_IDENTITY: Final = ("api_key", "name", "feature")
_MEMBER: Final = "member_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field in which the two answers to a request differ.

    `field` is the path of the field, such as `topics.partitions.error_code`. The path is empty if
    one of the systems gave no answer. The path ends with `(count)` if two lists differ in length.
    """

    send: Send
    field: str
    system: Any
    reference: Any
    system_fields: Mapping[str, Any]
    reference_fields: Mapping[str, Any]

    def __str__(self) -> str:
        place = self.field or "answer"
        return (
            f"{self.send.api.name} v{self.send.version} ({self.send.note}): {place} "
            f"is {as_text(self.system)}, of the reference broker {as_text(self.reference)}"
        )


def differences(send: Send, system: Any, reference: Any) -> list[Difference]:
    if isinstance(system, str) or isinstance(reference, str):
        same = system == reference
        return [] if same else [_one(send, "", system, reference, NO_FIELDS, NO_FIELDS)]
    return list(_below(send, "", system, reference, NO_FIELDS, NO_FIELDS))


def as_text(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _below(
    send: Send,
    path: str,
    system: Any,
    reference: Any,
    system_fields: Mapping[str, Any],
    reference_fields: Mapping[str, Any],
) -> Iterator[Difference]:
    if isinstance(system, Mapping) and isinstance(reference, Mapping):
        for name in dict.fromkeys((*system, *reference)):
            below = f"{path}.{name}" if path else name
            cells = system.get(name, ABSENT), reference.get(name, ABSENT)
            yield from _below(send, below, *cells, system, reference)
    elif isinstance(system, list) and isinstance(reference, list):
        if len(system) == len(reference):
            for one, other in zip(_ordered(system), _ordered(reference), strict=True):
                yield from _below(send, path, one, other, system_fields, reference_fields)
        else:
            yield from _uneven(send, path, system, reference, system_fields, reference_fields)
    elif system != reference:
        yield _one(send, path, system, reference, system_fields, reference_fields)


def _ordered(items: list[Any]) -> list[Any]:
    if not all(isinstance(one, Mapping) and _is_drawn(one.get(_MEMBER)) for one in items):
        return items
    # A system draws member ids at random, so they give no order.
    return sorted(items, key=lambda one: json.dumps({**one, _MEMBER: ""}, sort_keys=True))


def _is_drawn(member_id: Any) -> bool:
    return isinstance(member_id, str) and member_id.startswith("member ")


def _uneven(
    send: Send,
    path: str,
    system: list[Any],
    reference: list[Any],
    system_fields: Mapping[str, Any],
    reference_fields: Mapping[str, Any],
) -> Iterator[Difference]:
    theirs, ours = _by_name(system), _by_name(reference)
    if theirs is None or ours is None:
        count = f"{path} (count)"
        yield _one(send, count, len(system), len(reference), system_fields, reference_fields)
        return
    for name in dict.fromkeys((*theirs, *ours)):
        one, other = theirs.get(name, ABSENT), ours.get(name, ABSENT)
        if ABSENT in (one, other):
            here = f"{path}.{name}"
            yield _one(send, here, _presence(one), _presence(other), NO_FIELDS, NO_FIELDS)
        else:
            yield from _below(send, path, one, other, system_fields, reference_fields)


def _presence(value: Any) -> str:
    return ABSENT if value == ABSENT else "(present)"


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for item in items:
        if not isinstance(item, Mapping):
            return None
        cells = item
        name = next((str(cells[one]) for one in _IDENTITY if one in cells), None)
        if name is None or name in found:
            return None
        found[name] = cells
    return found


def _one(
    send: Send,
    path: str,
    system: Any,
    reference: Any,
    system_fields: Mapping[str, Any],
    reference_fields: Mapping[str, Any],
) -> Difference:
    return Difference(
        send=send,
        field=path,
        system=system,
        reference=reference,
        system_fields=system_fields,
        reference_fields=reference_fields,
    )
