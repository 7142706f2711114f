"""The base class of replicas; it makes weak references to them possible.

A fetch session remembers the replica that it read last, but must not keep that replica's log in
memory. So it has only a weak reference.
"""

from __future__ import annotations


class WeaklyReferenced:
    """The base class of objects with `__slots__` that can have weak references."""

    # In a base class, because `replacing` needs classes whose own slots are all fields.
    __slots__ = ("__weakref__",)
