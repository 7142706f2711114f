"""Translates a spec to TLA+: a module for TLC and Apalache, and a configuration file for TLC.

An unordered type is a constant of the module, and the configuration makes it a set of model values.
Other types are ranges of integers, in which constants of the spec are written by their names where
possible. `Nothing` is one model value. A record becomes a record, a set becomes a set, and a map
becomes a function. A method that returns a term becomes an operator. A term that an action uses
several times becomes a definition in a LET.

In an action, TLC treats a disjunction or `\\E` as a choice of next states, and evaluates every
branch. So in the guard `end = 0 \\/ log[end - 1] ...`, TLC would read `log[-1]`. The module
contains such a guard as `(guard) = TRUE`, which TLC evaluates from left to right, as the engines of
Urteil do.

Simplified: TLC does not detect every undefined term (such as a key outside its type). It detects an
undefined term only where it applies a function outside its domain. If a value is assigned outside
its type, the invariant `TypeOK` is violated.
"""

from model.language.tla.configuration import configuration, element, flat, module

__all__ = ["configuration", "element", "flat", "module"]
