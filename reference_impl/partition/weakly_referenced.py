"""The base class of replicas, which permits weak references.

A fetch session remembers the replica that it read most recently. With a weak reference, it does not
hold the log of this replica in memory.
"""

from __future__ import annotations


class WeaklyReferenced:
    # In a base class, because `replacing` needs classes whose own slots are all fields.
    __slots__ = ("__weakref__",)
