"""Chooses the names in a spec's TLA+ module: the names of state variables, of elements of types,
and of bound variables.

The elements of a type may have names such as `EMPTY` and `OPEN`. Otherwise, they are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from model.language import terms as t
from model.language.spec import Spec
from model.language.tla.places import Place

Names = Mapping[int, str]  # uid of a parameter or bound variable -> its name in the module


@dataclass
class Naming:
    """Chooses the names in a spec's TLA+ module. No bound variable has a name that is in
    `taken`.
    """

    spec: Spec
    taken: set[str]
    firsts: Mapping[str, str]  # sort -> its least element

    @cached_property
    def places(self) -> Mapping[str, Place]:
        return {v.name: Place.of(self.spec, v.name) for v in self.spec.variables}

    @cached_property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """Maps each type whose elements have names to these names, such as `EMPTY` and `OPEN`.

        If one of these names has another use in the module, the type is not in the result, and its
        elements are written as numbers.
        """
        found: dict[str, tuple[str, ...]] = {}
        for n, sort in self.spec.sorts.items():
            found[n] = getattr(sort, "labels", ())
        every = [x for labels in found.values() for x in labels]
        return {
            n: labels
            for n, labels in found.items()
            if labels and all(every.count(x) == 1 and x not in self.taken for x in labels)
        }

    def named(self, binders: Iterable[t.Local], outer: Names) -> dict[int, str]:
        names = dict(outer)
        for b in binders:
            base = re.sub(r"\W", "_", b.name)
            taken = self.taken | set(names.values())
            tried = (base, base[0], *(f"{base}_{k}" for k in range(2, 1000)))
            names[b.uid] = next(x for x in tried if x not in taken)
        return names

    def set_of(self, sort: t.SortInfo) -> str:
        return "BOOLEAN" if sort.flavour == "bool" else sort.name

    def least(self, sort: t.SortInfo) -> str:
        if sort.optional:
            return "Nothing"
        if sort.flavour == "bool":
            return "FALSE"
        if sort.flavour == "sort":
            return f"CHOOSE x \\in {sort.name} : TRUE"
        if sort.name in self.labels and self.firsts[sort.name] == "0":
            return self.labels[sort.name][0]
        return self.firsts[sort.name]

    def literal(self, n: t.Const) -> str:
        if n.sort.flavour == "bool":
            return str(bool(n.value)).upper()
        labels = self.labels.get(n.sort.name, ())
        return labels[n.value] if 0 <= n.value < len(labels) else str(n.value)
