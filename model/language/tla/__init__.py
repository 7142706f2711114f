"""Translates a spec to TLA+: a module for TLC and Apalache, and a configuration file for TLC.

An unordered type is a constant, which the configuration makes a set of model values; other types
are ranges of integers, with constants where possible. `Nothing` is one model value. Records are
records, a set is a set, a map is a function, a method that returns a term is an operator, and a
term that an action uses several times has a LET.

In an action, TLC treats a disjunction or `\\E` as a choice of next states and evaluates every
branch: in the guard `end = 0 \\/ log[end - 1] ...`, it would read `log[-1]`. Such a guard is
written as `(guard) = TRUE`, which TLC evaluates from left to right, as the engines do.

Simplified: TLC detects an undefined term (a key outside its type) only where it applies a function
outside its domain. A value that is assigned outside its type violates `TypeOK`.
"""

from model.language.tla.configuration import configuration, element, flat, module

__all__ = ["configuration", "element", "flat", "module"]
