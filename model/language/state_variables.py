"""Places: the parts of a state that a spec reads and assigns, as maps and records over variables.

A record is a group of variables and a set a map to Bool: both are notation. What engines see is
flat: `replica[r].isr[f]` is the variable `replica.isr` applied to two keys.

A record or a map that a spec names is a *view*: it is read where it is used. Reading one after an
assignment to what it shows would look like the state after and mean the state before, so it is
refused (`spec.py`); a value read into a name above the assignment stays what it was.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, dataclass_transform, overload

from model.faults import nearest
from model.language import terms as t
from model.language.expressions import (
    Bool,
    Nothing,
    Sort,
    SpecError,
    Term,
    agree,
    all_of,
    any_of,
    each,
    forall,
    lower,
    wrap,
)

K = TypeVar("K", bound=Term)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class LeafShape:
    sort: Any  # the Term class
    info: t.SortInfo


@dataclass(frozen=True, slots=True)
class MapShape:
    key: Any
    value: Shape


@dataclass(frozen=True, slots=True)
class RecordShape:
    record: type[Record]


Shape = LeafShape | MapShape | RecordShape


def shape_of(hint: Any) -> Shape | None:
    """The shape that an annotation declares; None where it declares no part of a state."""
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        sort = next(a for a in typing.get_args(hint) if a is not Nothing)
        return LeafShape(sort, t.SortInfo(sort.__name__, sort.flavour, optional=True))
    if origin is Map:
        key, value = typing.get_args(hint)
        inner = shape_of(value)
        if inner is None:
            raise SpecError(f"{value!r} cannot be the value of a map")
        return MapShape(key, inner)
    if isinstance(hint, type) and issubclass(hint, Term):
        return LeafShape(hint, hint.info)
    return RecordShape(hint) if isinstance(hint, type) and issubclass(hint, Record) else None


def leaves(shape: Shape, path: str, keys: tuple[t.SortInfo, ...] = ()) -> Iterator[t.Variable]:
    match shape:
        case LeafShape():
            yield t.Variable(path, keys, shape.info)
        case MapShape():
            yield from leaves(shape.value, path, (*keys, shape.key.info))
        case RecordShape():
            for name, inner in shape.record.fields().items():
                yield from leaves(inner, f"{path}.{name}", keys)


class Store(typing.Protocol):
    """Where reads and writes of an action go."""

    def read(self, variable: t.Variable, keys: tuple[t.Node, ...]) -> t.Node: ...
    def write(self, variable: t.Variable, keys: tuple[t.Node, ...], value: t.Node) -> None: ...


@dataclass(frozen=True, slots=True)
class Reference:
    store: Store
    shape: Shape
    path: str
    sorts: tuple[t.SortInfo, ...] = ()
    keys: tuple[t.Node, ...] = ()

    def at(self, key: Term) -> Reference:
        assert isinstance(self.shape, MapShape)
        if key.node.sort != self.shape.key.info:
            raise SpecError(
                f"{self.path} is indexed by {self.shape.key.__name__}, not by {key.node.sort.name}"
            )
        return Reference(
            self.store,
            self.shape.value,
            self.path,
            (*self.sorts, key.node.sort),
            (*self.keys, key.node),
        )

    def view(self) -> Any:
        match self.shape:
            case LeafShape(sort, info):
                return wrap(
                    sort,
                    self.store.read(t.Variable(self.path, self.sorts, info), self.keys),
                )
            case MapShape(key, _):
                return Map(key, lambda k: self.at(k).view(), lambda k, v: self.at(k).assign(v))
            case RecordShape(record):
                made = object.__new__(record)
                made.__dict__["_field"] = self.part
                return made

    def part(self, name: str) -> Reference:
        assert isinstance(self.shape, RecordShape)
        return Reference(
            self.store,
            self.shape.record.fields()[name],
            f"{self.path}.{name}",
            self.sorts,
            self.keys,
        )

    def assign(self, value: Any) -> None:
        match self.shape:
            case LeafShape(sort, info):
                wanted = wrap(sort, t.Least(info))
                _, node = agree(wanted.node, lower(value, sort))
                self.store.write(t.Variable(self.path, self.sorts, info), self.keys, node)
            case MapShape(key, _):
                for k in each(key, lambda _: t.Const(1, t.BOOL)):
                    self.at(k).assign(value[k])
            case RecordShape(record):
                for name in record.fields():
                    self.part(name).assign(getattr(value, name))


class Map(Generic[K, V]):
    """A total function, read and assigned by subscript; with values in Bool, a set."""

    def __init__(
        self, key: Any, read: Callable[[Any], Any], write: Callable[[Any, Any], None] | None = None
    ) -> None:
        self.key, self._read, self._write = key, read, write

    def __getitem__(self, key: K) -> V:
        return self._read(key)  # type: ignore[no-any-return]

    @overload
    def __setitem__(self: Map[K, Bool], key: K, value: Bool | bool) -> None: ...
    @overload
    def __setitem__(self, key: K, value: V) -> None: ...
    def __setitem__(self, key: K, value: Any) -> None:
        if self._write is None:
            raise SpecError("this map is a value, not a part of the state: it cannot be assigned")
        self._write(key, value)

    # sets
    def __iter__(self: Map[K, Bool]) -> Iterator[K]:
        return each(self.key, lambda k: self[k].node)

    def __sub__(self: Map[K, Bool], other: set[K]) -> Map[K, Bool]:
        return Map(self.key, lambda k: all_of(self[k], *(k != x for x in other)))

    def __or__(self: Map[K, Bool], other: set[K]) -> Map[K, Bool]:
        return Map(self.key, lambda k: any_of(self[k], *(k == x for x in other)))

    def __eq__(self, other: object) -> Bool:  # type: ignore[override]
        if isinstance(other, set):
            elements = other
            return forall(
                same(self[k], any_of(*(k == x for x in elements))) for k in each_of(self.key)
            )
        if isinstance(other, Map):
            theirs: Map[Any, Any] = other
            return forall(same(self[k], theirs[k]) for k in each_of(self.key))
        raise SpecError(f"a map meets {other!r}")

    def __ne__(self, other: object) -> Bool:  # type: ignore[override]
        return ~(self == other)

    __hash__ = object.__hash__


def each_of(sort: Any) -> Iterator[Any]:
    yield from sort


def same(left: Any, right: Any) -> Bool:
    equal: Bool = left == right
    return equal


Set = Map[K, Bool]


def everything(sort: type[K]) -> Set[K]:
    """The set of all elements of a sort."""
    return Map(sort, lambda _: wrap(Bool, t.Const(1, t.BOOL)))


@dataclass_transform(kw_only_default=True, eq_default=False)
class Record:
    """A group of parts that travel together: read by attribute, assigned by attribute or whole."""

    def __init__(self, **values: Any) -> None:
        if values.keys() != self.fields().keys():
            raise SpecError(
                f"{type(self).__name__} has the fields {', '.join(self.fields())};"
                f" given {', '.join(values)}"
            )
        self.__dict__.update(values)

    @classmethod
    def fields(cls) -> dict[str, Shape]:
        """The shape of every field."""
        hints = typing.get_type_hints(cls)
        return {name: s for name, hint in hints.items() if (s := shape_of(hint)) is not None}

    @classmethod
    def blank(cls) -> typing.Self:
        """The record of least values; of a record without maps."""
        leaves = {n: s for n, s in cls.fields().items() if isinstance(s, LeafShape)}
        return cls(**{n: wrap(s.sort, t.Least(s.info)) for n, s in leaves.items()})

    if not TYPE_CHECKING:  # hidden, so that type checkers know the fields and no others

        def __getattr__(self, name):
            return self._part(name, "read").view()

        def __setattr__(self, name, value):
            self._part(name, "assigned").assign(value)

    def _part(self, name: str, done: str) -> Reference:
        reraise_property_error(self, name)
        if name not in self.fields():
            raise no_such(self, "field", name, self.fields())
        place = self.__dict__.get("_field")
        if place is None:
            raise SpecError(
                f"{name!r} of this {type(self).__name__} is no part of the state:"
                f" it cannot be {done}"
            )
        part: Reference = place(name)
        return part

    def __eq__(self, other: object) -> Bool:  # type: ignore[override]
        if not isinstance(other, Record) or other.fields().keys() != self.fields().keys():
            raise SpecError(f"a {type(self).__name__} meets {other!r}")
        return all_of(*(same(getattr(self, n), getattr(other, n)) for n in self.fields()))

    def __ne__(self, other: object) -> Bool:  # type: ignore[override]
        return ~(self == other)

    __hash__ = object.__hash__


def no_such(owner: object, what: str, name: str, known: Iterable[str]) -> Exception:
    """The error for an unknown attribute; Python, which asks for `_names`, gets its own."""
    fault = AttributeError if name.startswith("_") else SpecError
    return fault(
        f"{type(owner).__name__} has no {what} {name!r}; the nearest: {nearest(name, known)}"
    )


def reraise_property_error(owner: object, name: str) -> None:
    """Raises the error of the class's own property, where that is why Python asks again.

    When a property raises AttributeError, Python looks the *property's* name up by `__getattr__`:
    without this the wrong name is blamed.
    """
    found = inspect.getattr_static(type(owner), name, None)
    if isinstance(found, property | cached_property):
        try:
            found.__get__(owner, type(owner))
        except AttributeError as error:
            raise SpecError(f"{type(owner).__name__}.{name}: {error}") from error


__all__ = ["Map", "Record", "Set", "Sort", "everything"]
