"""Transactions before KIP-890, and before its markers were strict."""

from __future__ import annotations

from model.transactions_abstract.spec import Transactions
from model.transactions_abstract.versions import LaxMarkers, Version1
from model.variants import Variant

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="v1",
        spec="transactions-abstract",
        kind="version",
        cls=Version1,
        breaks="no_hanging_transaction",
        steps=6,
    ),
    Variant(
        name="lax-markers",
        spec="transactions-abstract",
        kind="bug",
        cls=LaxMarkers,
        breaks="faithful",
        steps=9,
    ),
    Variant(
        name="v2", spec="transactions-abstract", kind="version", cls=Transactions, default=True
    ),
)
