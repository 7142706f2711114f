"""The spec language: one typed grammar, read by every engine."""

from model.language.places import Map, Record, Set, everything
from model.language.scope import Scope
from model.language.spec import Spec, action, invariant, lemma, witness
from model.language.tracing import when
from model.language.words import (
    Bool,
    Int,
    Nothing,
    Ordered,
    Sort,
    SpecError,
    all_of,
    any_of,
    count,
    exists,
    false,
    first,
    forall,
    iff,
    implies,
    ite,
    last,
    least_of,
    nothing,
    true,
)

__all__ = [
    "Bool", "Int", "Map", "Nothing", "Ordered", "Record", "Scope", "Set", "Sort", "Spec",
    "SpecError", "action", "all_of", "any_of", "count", "everything", "exists", "false", "first",
    "forall", "iff", "implies", "invariant", "ite", "last", "least_of", "lemma", "nothing", "true",
    "when", "witness",
]  # fmt: skip
