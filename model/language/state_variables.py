"""State variables: the maps, sets and records that a spec reads and assigns.

Engines (explorers and provers) see only flat variables. `replica[r].isr[f]` is the flat variable
`replica.isr` with two keys, and a set is a map to Bool.

A *view* is a record or a map that is bound to a Python name. Each use of the name reads the
variables from the state. Every read returns the value before the action, so `tracing.py` refuses a
read through a view after an assignment.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
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
    choose,
    each,
    lower,
    wrap,
)
from model.language.quantifiers import forall

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
    """Returns the shape (the type) of a state variable from its annotation, or None if the
    annotation does not declare a state variable.

    Raises SpecError for a map whose key or value has an unsuitable type.
    """
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        sort = next(a for a in typing.get_args(hint) if a is not Nothing)
        if not _is_sort(sort):
            return None
        return LeafShape(sort, t.SortInfo(sort.__name__, sort.flavour, optional=True))
    if origin is Map:
        key, value = typing.get_args(hint)
        inner = shape_of(value)
        if inner is None or not _is_sort(key):
            part, wrong = ("key", key) if inner is not None else ("value", value)
            wanted = "a sort" if inner is not None else "a sort, a Map, a Set or a Record"
            name = wrong.__name__ if isinstance(wrong, type) else repr(wrong)
            raise SpecError(f"{name} cannot be the {part} of a map\n  use {wanted}")
        return MapShape(key, inner)
    if _is_sort(hint):
        return LeafShape(hint, hint.info)
    return RecordShape(hint) if isinstance(hint, type) and issubclass(hint, Record) else None


def _is_sort(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Term)


def leaves(shape: Shape, path: str, keys: tuple[t.SortInfo, ...] = ()) -> Iterator[t.Variable]:
    """Yields the flat variables of a state variable, or of a part of it. A record has one flat
    variable for each of its fields.

    `path` is the name of the part, such as `replica.isr`. `keys` are the types of the map keys on
    the path to this part.
    """
    match shape:
        case LeafShape():
            yield t.Variable(path, keys, shape.info)
        case MapShape():
            yield from leaves(shape.value, path, (*keys, shape.key.info))
        case RecordShape():
            for name, inner in shape.record.fields().items():
                yield from leaves(inner, f"{path}.{name}", keys)


class Store(typing.Protocol):
    """An object to which a spec sends its reads and its writes of state variables. `read` returns a
    term.
    """

    def read(self, variable: t.Variable, keys: tuple[t.Node, ...]) -> t.Node: ...
    def write(self, variable: t.Variable, keys: tuple[t.Node, ...], value: t.Node) -> None: ...


@dataclass(frozen=True, slots=True)
class Reference:
    """A state variable, or the part of a state variable that some keys select, such as
    `log[b1]`.
    """

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
    """A total function, which a spec reads and assigns with `[]`. A map to Bool is a set."""

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
            raise SpecError(
                "this map is a value and not a state variable, so it cannot be assigned\n"
                "  assign the whole map to a state variable"
            )
        self._write(key, value)

    # sets
    def __iter__(self: Map[K, Bool]) -> Iterator[K]:
        return each(self.key, lambda k: self[k].node)

    def __sub__(self: Map[K, Bool], other: set[K] | Map[K, Bool]) -> Map[K, Bool]:
        return Map(self.key, lambda k: self[k] & ~_has(other, k))

    def __or__(self: Map[K, Bool], other: set[K] | Map[K, Bool]) -> Map[K, Bool]:
        return Map(self.key, lambda k: self[k] | _has(other, k))

    def __eq__(self, other: object) -> Bool:  # type: ignore[override]
        if isinstance(other, set):
            elements = other
            return forall(
                same(self[k], any_of(*(k == x for x in elements))) for k in each_of(self.key)
            )
        if isinstance(other, Map):
            theirs: Map[Any, Any] = other
            return forall(same(self[k], theirs[k]) for k in each_of(self.key))
        raise SpecError(f"a map is compared with {other!r}\n  compare it with a map or a set")

    def __ne__(self, other: object) -> Bool:  # type: ignore[override]
        return ~(self == other)

    __hash__ = object.__hash__


def _has(elements: set[K] | Map[K, Bool], k: K) -> Bool:
    return elements[k] if isinstance(elements, Map) else any_of(*(k == x for x in elements))


def each_of(sort: Any) -> Iterator[Any]:
    yield from sort


def same(left: Any, right: Any) -> Bool:
    equal: Bool = left == right
    return equal


Set = Map[K, Bool]


def everything(sort: type[K]) -> Set[K]:
    return Map(sort, lambda _: wrap(Bool, t.Const(1, t.BOOL)))


@cache
def _fields(record: Any) -> dict[str, Shape]:
    hints = typing.get_type_hints(record)
    return {name: s for name, hint in hints.items() if (s := shape_of(hint)) is not None}


@dataclass_transform(kw_only_default=True, eq_default=False)
class Record:
    """A group of state variables. A spec assigns each field separately, or all fields in one
    assignment.
    """

    def __init__(self, **values: Any) -> None:
        if values.keys() != self.fields().keys():
            raise SpecError(
                f"{type(self).__name__} has the fields {', '.join(self.fields())},"
                f" but the call has {', '.join(values) or 'none'}\n  name each field once"
            )
        self.__dict__.update(values)

    @classmethod
    def fields(cls) -> dict[str, Shape]:
        return _fields(typing.cast("Any", cls))

    @classmethod
    def blank(cls) -> typing.Self:
        """Returns the record with the least value in each field: false, 0, nothing. A record with a
        field that is a map has no such value.
        """
        leaves = {n: s for n, s in cls.fields().items() if isinstance(s, LeafShape)}
        return cls(**{n: wrap(s.sort, t.Least(s.info)) for n, s in leaves.items()})

    if not TYPE_CHECKING:  # hidden: type checkers accept the declared fields and no others

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
                f"this {type(self).__name__} is a value and not a state variable,"
                f" so {name!r} cannot be {done}"
            )
        part: Reference = place(name)
        return part

    def __eq__(self, other: object) -> Bool:  # type: ignore[override]
        if not isinstance(other, Record) or other.fields().keys() != self.fields().keys():
            raise SpecError(
                f"a {type(self).__name__} is compared with {other!r}\n"
                f"  compare it with a {type(self).__name__}"
            )
        return all_of(*(same(getattr(self, n), getattr(other, n)) for n in self.fields()))

    def __ne__(self, other: object) -> Bool:  # type: ignore[override]
        return ~(self == other)

    __hash__ = object.__hash__


def no_such(owner: object, what: str, name: str, known: Iterable[str]) -> Exception:
    """Returns the error for an unknown attribute of `owner`, with the most similar names in
    `known`.

    `what` is the kind of the attribute, such as `field`. If the name begins with `_`, the error is
    an AttributeError; otherwise it is a SpecError.
    """
    # Python itself looks up names that begin with `_`, and expects an AttributeError
    fault = AttributeError if name.startswith("_") else SpecError
    return fault(
        f"{type(owner).__name__} has no {what} {name!r}; the nearest: {nearest(name, known)}"
    )


def reraise_property_error(owner: object, name: str) -> None:
    """Raises SpecError if the class of `owner` has a @property `name` that fails with an
    AttributeError. The message contains the cause.
    """
    # Python hides the AttributeError: it calls `__getattr__`, which reports no such property
    found = inspect.getattr_static(type(owner), name, None)
    if isinstance(found, property | cached_property):
        try:
            found.__get__(owner, type(owner))
        except AttributeError as error:
            raise SpecError(f"{type(owner).__name__}.{name}: {error}") from error


def ite(test: Bool, then: V, other: V) -> V:
    """Returns `then` if the test is true, otherwise `other`. Both are terms, records or maps."""
    chosen: Any
    if isinstance(then, Map) and isinstance(other, Map):
        x, y = then, other
        chosen = Map(x.key, lambda k: ite(test, x[k], y[k]))
    elif isinstance(then, Record) and isinstance(other, Record):
        fields = {f: ite(test, getattr(then, f), getattr(other, f)) for f in then.fields()}
        chosen = type(then)(**fields)
    else:
        chosen = choose(test, then, other)
    return chosen  # type: ignore[no-any-return]


__all__ = ["Map", "Record", "Set", "Sort", "everything", "ite"]
