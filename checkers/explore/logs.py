"""Finds the logs among the variables of a spec, by the types and names of the variables.

A log is a map from positions (offsets) to records. The spec also has a variable with the type of
the positions and with the word *end* in its name. For example, the log `log[b0].record[o]` ends at
`log[b0].end_offset`, and the log `committed[o]` ends at `committed_end`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from model.language import terms as t
from model.language.spec import Spec
from model.language.state_variables import LeafShape, MapShape, RecordShape

END: Final = re.compile(r"(^|_)end(_|$)")
ORDERED: Final = ("int", "ordered")


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log of a spec: the variables of its records, its end offset, and other offsets of the log.

    `marks` are the variables with these other offsets, such as the high watermark.
    """

    name: str  # of the map from positions, such as `log.record`
    cells: tuple[t.Variable, ...]
    end: t.Variable
    marks: tuple[t.Variable, ...]

    @property
    def keys(self) -> tuple[t.SortInfo, ...]:
        return self.end.keys

    @property
    def position(self) -> t.SortInfo:
        return self.end.value


def logs_of(spec: Spec) -> Iterator[Log]:
    for end in spec.variables:
        if not END.search(end.name.rpartition(".")[2]) or end.value.flavour not in ORDERED:
            continue
        position, keys = end.value.name, end.keys
        owner = end.name.rpartition(".")[0]
        inside = [
            v for v in spec.variables
            if len(v.keys) > len(keys) and v.keys[: len(keys)] == keys
            and v.keys[len(keys)].name == position
            and _belongs(v.name, end.name, owner)
        ]  # fmt: skip
        if not inside:
            continue
        names = {_map_of(spec, v.name, len(keys)) for v in inside}
        marks = [
            v for v in spec.variables
            if v != end and v.keys == keys and v.value.name == position
        ]  # fmt: skip
        for name in sorted(names):
            cells = tuple(v for v in inside if _map_of(spec, v.name, len(keys)) == name)
            yield Log(name=name, cells=cells, end=end, marks=tuple(marks))


def _belongs(name: str, end: str, owner: str) -> bool:
    if owner:
        return name.startswith(f"{owner}.")
    prefix = end.partition("_")[0]  # `committed_end` is the end of `committed`
    return prefix == "end" or name.partition(".")[0] == prefix


def _map_of(spec: Spec, variable: str, keys: int) -> str:
    # The part of the name that the position's key follows: `log.record` of `log.record.id`.
    head, *fields = variable.split(".")
    shape, name, left = spec.shapes[head], head, keys
    while fields or isinstance(shape, MapShape):
        match shape:
            case MapShape(value=value):
                if left == 0:
                    return name
                shape, left = value, left - 1
            case RecordShape(record=record):
                part = fields.pop(0)
                name, shape = f"{name}.{part}", record.fields()[part]
            case LeafShape():
                break
    return name
