"""Draws a state as data for a picture: lanes, logs, messages in flight, and cards with all other
variables.

The picture is derived from the types of the state variables, so every spec has a picture. Each line
has a part of the picture, and the variables that it displays:

    lane      a row for one element of a type, such as broker b0; this type is the key of the logs;
              in a spec without logs, it is the type that most actions have as a parameter
    log       a map from offsets, such as `record[o]`, that is filled up to the offset in another
              variable, such as `end_offset`; all further variables with the keys and the type of
              `end_offset` are marks on the log, such as the high watermark
    message   an entry of a map whose records name a lane, such as `request[1]`; it is drawn if one
              of its fields has a value other than the least value of its type
    badge     a variable without keys that names a lane, such as `registration.leader`
    card      all other variables; the fields of one record or map share a card
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from checkers.explore.logs import Log, logs_of
from checkers.explore.scopes import is_wide
from model.language import terms as t
from model.language.interpreter import State, Value
from model.language.spec import Spec
from model.language.state_variables import LeafShape, MapShape, RecordShape, Shape
from model.language.values import Writer

Drawn = dict[str, Any]

ALL_CELLS: Final = 12  # a log with more cells is drawn up to its end
LAST_CELLS: Final = 10  # of a log whose positions are a wide sort
LAST_FIELDS: Final = 12  # of a variable with a wide key


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaf:
    head: str
    keys: tuple[tuple[t.SortInfo, int], ...]
    place: str
    text: str
    value: Value  # of a set: None
    sort: t.SortInfo
    variable: str
    members: tuple[int, ...] = ()  # of a set
    is_set: bool = False

    def is_least(self, least: Value) -> bool:
        return not self.members if self.is_set else self.value == least


@dataclass(slots=True)
class Painter:
    writer: Writer
    logs: tuple[Log, ...] = ()
    lane: t.SortInfo | None = None
    messages: frozenset[str] = frozenset()  # heads of the maps of messages
    hidden: frozenset[str] = field(default=frozenset())  # variables drawn on a log
    on_a_log: dict[str, bool] = field(default_factory=dict[str, bool])  # of a path

    @classmethod
    def of(cls, writer: Writer) -> Painter:
        spec = writer.spec
        logs = tuple(logs_of(spec))
        made = cls(writer=writer, logs=logs, lane=_lane_sort(spec, writer, logs))
        drawn = {v.name for log in logs for v in (*log.cells, log.end, *log.marks)}
        made.hidden = frozenset(drawn)
        made.messages = frozenset(made._maps_of_messages())
        return made

    def picture(self, state: State, before: State | None = None) -> Drawn:
        """Returns the picture of a state as data for the web page.

        `before` is the state before the last step, or None. A value is marked as `changed` if it
        differs from its value in `before`.
        """
        leaves = [*self._every(state, state)]
        old = (
            None
            if before is None
            else {leaf.place: leaf.text for leaf in self._every(before, state)}
        )
        lanes = self._lanes()
        by_lane: dict[int, list[Drawn]] = {k: [] for k in lanes}
        cards: dict[str, list[Drawn]] = {}
        for leaf in leaves:
            if leaf.head in self.messages:
                continue
            drawn = _field(leaf, old)
            if leaf.keys and leaf.keys[0][0] == self.lane and leaf.keys[0][1] in by_lane:
                drawn["name"] = _without_lane(drawn["name"])
                by_lane[leaf.keys[0][1]].append(drawn)
            else:
                cards.setdefault(leaf.head, []).append(drawn)
        badges = self._badges(leaves)
        logs = [*self._drawn_logs(state, before)]
        return {
            "lane_sort": self.lane.name if self.lane else None,
            "lanes": [
                {
                    "name": name,
                    "badges": badges.get(k, []),
                    "logs": [log for at, log in logs if at == k],
                    "fields": by_lane[k],
                }
                for k, name in lanes.items()
            ],
            "logs": [log for at, log in logs if at is None],
            "has_messages": bool(self.messages),
            "messages": [*self._drawn_messages(leaves, old)],
            "cards": [{"name": name, "fields": fields} for name, fields in cards.items()],
        }

    # ---- lanes

    def _lanes(self) -> dict[int, str]:
        if self.lane is None:
            return {}
        return {k: self.writer.value(k, self.lane) for k in self.writer.ranges[self.lane.name]}

    def _badges(self, leaves: list[_Leaf]) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for leaf in leaves:
            names = not leaf.keys and not leaf.is_set and self._is_lane(leaf.sort)
            if names and leaf.value is not None:
                found.setdefault(int(leaf.value), []).append(leaf.place)
        return found

    def _is_lane(self, sort: t.SortInfo) -> bool:
        return self.lane is not None and sort.name == self.lane.name

    # ---- logs

    def _drawn_logs(self, state: State, before: State | None) -> Iterator[tuple[int | None, Drawn]]:
        for log in self.logs:
            for keys in self._choices(log.keys):
                at = keys[0] if log.keys[:1] == (self.lane,) and self.lane else None
                yield at, self._log(log, keys, state, before)

    def _choices(self, sorts: tuple[t.SortInfo, ...]) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = [()]
        for sort in sorts:
            found = [(*keys, k) for keys in found for k in self.writer.ranges[sort.name]]
        return found

    def _log(self, log: Log, keys: tuple[int, ...], state: State, before: State | None) -> Drawn:
        positions = self.writer.ranges[log.position.name]
        end = int(state[log.end.name, keys] or 0)
        last_end = end if before is None else int(before[log.end.name, keys] or 0)
        named = [self.writer.value(k, s) for k, s in zip(keys, log.keys, strict=True)]
        furthest = max(end, last_end, *(int(state[m.name, keys] or 0) for m in log.marks), 0)
        first = (
            max(positions.start, furthest + 1 - LAST_CELLS)
            if is_wide(positions)
            else positions.start
        )
        shown = positions if len(positions) <= ALL_CELLS else range(first, furthest + 1)
        return {
            "name": self.writer.place(log.end.name, named).rpartition(".")[0] or log.name,
            "end": end,
            "ended": last_end,
            "end_name": log.end.name,
            "left_out": first - positions.start,
            "marks": [
                {"name": m.name, "at": state[m.name, keys]}
                for m in log.marks
                if state[m.name, keys] is not None
            ],
            "cells": [
                self._cell(log, (*keys, o), state, before, empty=o >= end)
                for o in shown
                if o in positions
            ],
        }

    def _cell(
        self, log: Log, keys: tuple[int, ...], state: State, before: State | None, *, empty: bool
    ) -> Drawn:
        fields = [
            {
                "name": v.name.removeprefix(f"{log.name}."),
                "value": self._cell_text(v, keys, state),
            }
            for v in log.cells
        ]
        epoch = next((v for v in log.cells if v.value.name.endswith("Epoch")), None)
        return {
            "offset": keys[-1],
            "fields": fields,
            "epoch": None if epoch is None else state[epoch.name, keys],
            "empty": empty,
            "changed": before is not None
            and any(
                self._cell_text(v, keys, state) != self._cell_text(v, keys, before)
                for v in log.cells
            ),
        }

    def _cell_text(self, variable: t.Variable, keys: tuple[int, ...], state: State) -> str:
        inner = variable.keys[len(keys) :]
        if not inner:
            return self.writer.value(state[variable.name, keys], variable.value)
        texts = [
            (", ".join(self.writer.value(k, s) for k, s in zip(more, inner, strict=True)), value)
            for more in self._choices(inner)
            if (value := state[variable.name, (*keys, *more)])
        ]
        if variable.value.flavour == "bool":
            return "{" + " ".join(text for text, _ in texts) + "}"
        return (
            "{" + " ".join(f"{k}: {self.writer.value(v, variable.value)}" for k, v in texts) + "}"
        )

    # ---- messages

    def _maps_of_messages(self) -> Iterator[str]:
        for name, shape in self.writer.spec.shapes.items():
            match shape:
                case MapShape(key=key, value=RecordShape(record=record)):
                    sorts = [s.info for s in record.fields().values() if isinstance(s, LeafShape)]
                    on_log = any(v.partition(".")[0] == name for v in self.hidden)
                    if (
                        not on_log
                        and not self._is_lane(key.info)
                        and any(map(self._is_lane, sorts))
                    ):
                        yield name
                case _:
                    pass

    def _drawn_messages(
        self, leaves: list[_Leaf], old: Mapping[str, str] | None
    ) -> Iterator[Drawn]:
        entries: dict[str, list[_Leaf]] = {}
        for leaf in leaves:
            if leaf.head in self.messages and leaf.keys:
                sort, k = leaf.keys[0]
                entries.setdefault(f"{leaf.head}[{self.writer.value(k, sort)}]", []).append(leaf)
        for place, fields in entries.items():
            if all(one.is_least(self._least(one.sort)) for one in fields):
                continue
            lanes = [one.value for one in fields if self._is_lane(one.sort) and not one.is_set]
            drawn = [_field(one, old) for one in fields]
            yield {
                "id": place,
                "to": next((int(k) for k in lanes if k is not None), None),
                "fields": [{**f, "name": f["name"].removeprefix(f"{place}.")} for f in drawn],
                "changed": any(f["changed"] for f in drawn),
            }

    def _least(self, sort: t.SortInfo) -> Value:
        if sort.optional:
            return None
        return False if sort.flavour == "bool" else self.writer.ranges[sort.name].start

    # ---- leaves

    def _every(self, state: State, like: State) -> Iterator[_Leaf]:
        # `like` decides which elements of a wide key are drawn
        for name, shape in self.writer.spec.shapes.items():
            yield from self._leaves(name, shape, name, (), name, state, like)

    def _drawn_keys(
        self, path: str, key: t.SortInfo, outer: tuple[int, ...], like: State
    ) -> Sequence[int]:
        elements = self.writer.ranges[key.name]
        if not is_wide(elements):
            return elements
        cells = [
            v for v in self.writer.spec.variables
            if len(v.keys) == len(outer) + 1 and (v.name == path or v.name.startswith(f"{path}."))
        ]  # fmt: skip
        used = (
            k for k in reversed(elements)
            if any(like[v.name, (*outer, k)] != self._least(v.value) for v in cells)
        )  # fmt: skip
        return [*islice(used, LAST_FIELDS)][::-1]

    def _leaves(
        self,
        head: str,
        shape: Shape,
        path: str,
        keys: tuple[tuple[t.SortInfo, int], ...],
        place: str,
        state: State,
        like: State,
    ) -> Iterator[_Leaf]:
        if self._is_on_a_log(path):
            return
        numbers = tuple(k for _, k in keys)
        match shape:
            case LeafShape(info=info):
                value = state[path, numbers]
                text = self.writer.value(value, info)
                yield _Leaf(head=head, keys=keys, place=place, text=text, value=value, sort=info,
                            variable=path)  # fmt: skip
            case MapShape(key=key, value=LeafShape(info=t.SortInfo(flavour="bool"))):
                elements = self.writer.ranges[key.__name__]
                members = tuple(k for k in elements if state[path, (*numbers, k)])
                text = "{" + " ".join(self.writer.value(k, key.info) for k in members) + "}"
                yield _Leaf(head=head, keys=keys, place=place, text=text, value=None,
                            sort=key.info, variable=path, members=members, is_set=True)  # fmt: skip
            case MapShape(key=key, value=inner):
                for k in self._drawn_keys(path, key.info, numbers, like):
                    at = f"{place}[{self.writer.value(k, key.info)}]"
                    yield from self._leaves(
                        head, inner, path, (*keys, (key.info, k)), at, state, like
                    )
            case RecordShape(record=record):
                for name, inner in record.fields().items():
                    yield from self._leaves(
                        head, inner, f"{path}.{name}", keys, f"{place}.{name}", state, like
                    )

    def _is_on_a_log(self, path: str) -> bool:
        # True if every variable of this path is drawn on a log
        if path not in self.on_a_log:
            below = [
                v.name for v in self.writer.spec.variables
                if v.name == path or v.name.startswith(f"{path}.")
            ]  # fmt: skip
            self.on_a_log[path] = self.hidden.issuperset(below)
        return self.on_a_log[path]


def _field(leaf: _Leaf, old: Mapping[str, str] | None) -> Drawn:
    return {
        "name": leaf.place,
        "value": leaf.text,
        "changed": old is not None and old.get(leaf.place) != leaf.text,
    }


def _without_lane(place: str) -> str:
    # `replica[b0].leader` on the lane of b0 is `replica.leader`
    return re.sub(r"^(\w+)\[[^\]]*\]", r"\1", place)


def _lane_sort(spec: Spec, writer: Writer, logs: tuple[Log, ...]) -> t.SortInfo | None:
    of_logs = Counter(log.keys[0].name for log in logs if log.keys)
    used = Counter(p.sort.name for a in spec.actions for p in a.params)
    keyed = Counter(k.name for v in spec.variables for k in v.keys)
    plain = [
        name
        for name, sort in spec.sorts.items()
        if name in keyed and sort.flavour != "bool"
        and (sort.flavour == "sort" or (sort.flavour == "ordered" and writer.prefix(name)))
    ]  # fmt: skip
    best = max(plain, key=lambda n: (of_logs[n], used[n], keyed[n]), default=None)
    return None if best is None else spec.sorts[best].info
