"""Writes the text of a state variable in TLA+: its path, such as `log[r].end`, and the set of its
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from model.language.spec import Spec
from model.language.state_variables import LeafShape, MapShape, Record, RecordShape, Shape


@dataclass(frozen=True)
class Place:
    base: str
    steps: tuple[str, ...]  # a field's name, or "" for a key
    is_set: bool  # the last key is an element

    @classmethod
    def of(cls, spec: Spec, variable: str) -> Place:
        base, *fields = variable.split(".")
        shape: Shape = spec.shapes[base]
        steps: list[str] = []
        while not isinstance(shape, LeafShape):
            if isinstance(shape, MapShape):
                steps.append("")
                shape = shape.value
            else:
                steps.append(fields.pop(0))
                shape = shape.record.fields()[steps[-1]]
        is_set = bool(steps) and steps[-1] == "" and shape.info.flavour == "bool"
        return cls(base, tuple(steps), is_set)


def is_set(shape: Shape) -> bool:
    """Returns True if the shape is a map to Bool, which the TLA+ module writes as a set."""
    return (
        isinstance(shape, MapShape)
        and isinstance(shape.value, LeafShape)
        and shape.value.info.flavour == "bool"
    )


def record_of(spec: Spec, variable: str) -> type[Record] | None:
    """Returns the class of the record that has the variable as a field. Returns None if no record
    has it as a field, or if the field is a map.
    """
    base, *fields = variable.split(".")
    shape: Shape = spec.shapes[base]
    found: type[Record] | None = None
    for name in fields:
        while isinstance(shape, MapShape):
            shape = shape.value
        assert isinstance(shape, RecordShape)
        found, shape = shape.record, shape.record.fields()[name]
    return found if isinstance(shape, LeafShape) else None


def shape_type(shape: Shape, records: Mapping[type, str]) -> str:
    """Returns the TLA+ text for the set of all values of a shape (the type of a state variable),
    such as `[Replica -> Offset]`.

    `records` has the TLA+ name of each record class.
    """
    match shape:
        case LeafShape():
            of = "BOOLEAN" if shape.info.flavour == "bool" else shape.info.name
            return f"{of} \\union {{Nothing}}" if shape.info.optional else of
        case MapShape(key=key):
            among = "BOOLEAN" if key.info.flavour == "bool" else key.info.name
            if is_set(shape):
                return f"SUBSET {among}"
            return f"[{among} -> {shape_type(shape.value, records)}]"
        case RecordShape(record=record):
            return records[record]
