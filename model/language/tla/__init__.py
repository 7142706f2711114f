"""Translates a spec to TLA+: a module for TLC and Apalache, and a configuration file for TLC.

Every construct of the language has a counterpart in TLA+. An unordered type is a constant: the
configuration makes it a set of model values. `Nothing` is one model value. Other types are ranges
of integers; the module writes their bounds with constants where possible. Records are records, a
set is a set, a map is a function. A method that returns a term is an operator. A term that an
action uses several times has a LET.

In an action, TLC treats a disjunction or `\\E` as a choice of next states and evaluates every
branch. So in the guard `end = 0 \\/ log[end - 1] ...`, it would read `log[-1]`. A guard of this
kind is written as `(guard) = TRUE`, which TLC evaluates from left to right, as the engines do.

Simplified: TLC detects an undefined term (a key outside its type) only where it applies a function
outside its domain. A value that is assigned outside its type violates `TypeOK`.
"""

from model.language.tla.configuration import configuration, element, flat, module

__all__ = ["configuration", "element", "flat", "module"]
