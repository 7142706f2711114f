"""Writes values, state variables and actions as text, such as `b0`, `log[b1].record[0]` and
`{b0 b1}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from model.language import terms as t
from model.language.interpreter import State, Value
from model.language.rows import RowState
from model.language.scope import Ranges
from model.language.spec import Action, Spec
from model.language.state_variables import LeafShape, MapShape, RecordShape, Shape

# the path of a variable or record, and keys -> True if this part of the state is left out
Skip: TypeAlias = Callable[[str, tuple[int, ...]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    owner: str
    field: str
    value: str

    @property
    def place(self) -> str:
        """The variable or field with its keys, for example `log[b1].end_offset`."""
        return f"{self.owner}.{self.field}" if self.owner else self.field


@dataclass(frozen=True, slots=True)
class Writer:
    spec: Spec
    ranges: Ranges

    # ---- values

    def prefix(self, sort: str) -> str:
        """Returns the text before the number of each value of a type, such as `tp` in `tp1`.

        This text is the attribute `prefix` of the type. If a `Sort` has no prefix, the text
        consists of its initials: `tp` for TopicPartition.
        """
        cls = self.spec.sorts.get(sort)
        own: str = getattr(cls, "prefix", "")
        if own or cls is None or cls.flavour != "sort":
            return own
        return "".join(re.findall("[A-Z]", sort)).lower()

    def value(self, value: Value, sort: t.SortInfo) -> str:
        """Returns a value as text: `b0`, `-1`, `true`, `nothing`, or a label such as `COMMIT`."""
        if value is None:
            return "nothing"
        if sort.flavour == "bool":
            return "true" if value else "false"
        labels: tuple[str, ...] = getattr(self.spec.sorts.get(sort.name), "labels", ())
        return labels[value] if labels else f"{self.prefix(sort.name)}{value}"

    def call(self, action: Action, values: Sequence[int]) -> str:
        return f"{action.name}({', '.join(self.arguments(action.params, values))})"

    def arguments(self, params: Sequence[t.Local], values: Sequence[Value]) -> list[str]:
        shown = [(p, self.value(v, p.sort)) for p, v in zip(params, values, strict=True)]
        return [text if self.prefix(p.sort.name) else f"{p.name} {text}" for p, text in shown]

    # ---- cells

    def place(self, variable: str, keys: Sequence[str]) -> str:
        if variable.endswith(t.AFTER):
            return f"after.{self.place(variable.removesuffix(t.AFTER), keys)}"
        head, *fields = variable.split(".")
        rest = list(keys)
        text, shape = head, self.spec.shapes[head]
        while True:
            match shape:
                case MapShape():
                    text, shape = f"{text}[{rest.pop(0)}]", shape.value
                case RecordShape():
                    name = fields.pop(0)
                    text, shape = f"{text}.{name}", shape.record.fields()[name]
                case LeafShape():
                    return text

    # ---- states

    def items(self, state: State) -> list[Item]:
        """Returns every field and variable of the state with its value as text, in the order of the
        spec. A set is one item.
        """
        return [*self._every(state, lambda path, keys: False)]

    def _every(self, state: State, skip: Skip) -> Iterator[Item]:
        for name, shape in self.spec.shapes.items():
            if not skip(name, ()):
                yield from self._items(shape, name, (), "", name, state, skip)

    def _items(
        self,
        shape: Shape,
        path: str,
        keys: tuple[int, ...],
        owner: str,
        field: str,
        state: State,
        skip: Skip,
    ) -> Iterator[Item]:
        match shape:
            case LeafShape():
                value = self.value(state[path, keys], shape.info)
                yield Item(owner=owner, field=field, value=value)
            case MapShape(key=key, value=LeafShape(info=t.SortInfo(flavour="bool"))):
                members = [k for k in self.ranges[key.__name__] if state[path, (*keys, k)]]
                value = "{" + " ".join(self.value(k, key.info) for k in members) + "}"
                yield Item(owner=owner, field=field, value=value)
            case MapShape(key=key, value=inner):
                for k in self.ranges[key.__name__]:
                    if not skip(path, (*keys, k)):
                        at = f"{field}[{self.value(k, key.info)}]"
                        yield from self._items(inner, path, (*keys, k), owner, at, state, skip)
            case RecordShape():
                whole = f"{owner}.{field}" if owner else field
                for name, inner in shape.record.fields().items():
                    part = f"{path}.{name}"
                    if not skip(part, keys):
                        yield from self._items(inner, part, keys, whole, name, state, skip)

    def changes(self, before: State, after: State) -> list[tuple[str, list[str]]]:
        """Returns the records and variables that the step changes. Each has a list of texts, such
        as `old → new` for a variable and `field old → new` for each changed field of a record.
        """
        changed: dict[str, list[str]] = {}
        skip = self._same(before, after)
        for old, new in zip(self._every(before, skip), self._every(after, skip), strict=True):
            if old.value != new.value:
                arrow = f"{old.value} → {new.value}"
                if new.owner:
                    changed.setdefault(new.owner, []).append(f"{new.field} {arrow}")
                else:
                    changed[new.field] = [arrow]
        return list(changed.items())

    def _same(self, before: State, after: State) -> Skip:
        """Returns a function that compares parts of the two states by object identity.

        The function takes the path of a variable or record, and keys. It returns True if `before`
        and `after` share the objects at this place, so that all values there are equal. If `before`
        or `after` is not a `RowState`, it always returns False.
        """
        if not (isinstance(before, RowState) and isinstance(after, RowState)):
            return lambda path, keys: False
        below: dict[str, list[str]] = {}

        def same(path: str, keys: tuple[int, ...]) -> bool:
            if path not in below:
                inner = f"{path}."
                names = (v.name for v in self.spec.variables)
                below[path] = [n for n in names if n == path or n.startswith(inner)]
            return all(before.part(n, keys) is after.part(n, keys) for n in below[path])

        return same
