"""The base class of replicas, to which weak references are possible.

A fetch session compares a replica with the one that it read last, but must not keep the log of the
old one in memory.

The slot of weak references is in a base class, because `replacing` needs classes whose own slots
are fields.
"""

from __future__ import annotations


class WeaklyReferenced:
    """A value with slots to which weak references are possible."""

    __slots__ = ("__weakref__",)
