"""The table of specs, with the variants of each spec.

Detailed specs, close to Kafka's code, are explored. Abstract specs are small enough to be proved
for any number of replicas, epochs, offsets and transactions.
"""

from __future__ import annotations

from pathlib import Path

from model import (
    classic_group,
    consumer_group,
    election,
    group_offsets,
    idempotence,
    idempotence_abstract,
    reassignment,
    replication,
    replication_abstract,
    retention,
    transactions,
    transactions_abstract,
)
from model.faults import UnknownName
from model.user_specs import load
from model.variants import Variant

VARIANTS: tuple[Variant, ...] = (
    *replication.VARIANTS,
    *election.VARIANTS,
    *reassignment.VARIANTS,
    *group_offsets.VARIANTS,
    *classic_group.VARIANTS,
    *consumer_group.VARIANTS,
    *retention.VARIANTS,
    *transactions.VARIANTS,
    *idempotence.VARIANTS,
    *replication_abstract.VARIANTS,
    *transactions_abstract.VARIANTS,
    *idempotence_abstract.VARIANTS,
)

SPECS: tuple[str, ...] = tuple(dict.fromkeys(v.spec for v in VARIANTS))


def variants_of(spec: str) -> tuple[Variant, ...]:
    """Returns the variants of a spec, versions first; `spec` is a name in the table or a .py file.

    Raises UnknownName for an unknown name, and SpecError for a file that cannot be read.
    """
    if spec.endswith(".py"):
        return load(Path(spec))
    if spec not in SPECS:
        raise UnknownName("spec", spec, SPECS)
    return tuple(v for v in VARIANTS if v.spec == spec)


def find(spec: str, variant: str | None = None) -> Variant:
    """Returns the spec's variant of this name, or its default variant if no name is given.

    Raises UnknownName, which lists the three most similar names.
    """
    known = variants_of(spec)
    for row in known:
        if row.name == variant or (variant is None and row.default):
            return row
    raise UnknownName(f"variant of {spec}", str(variant), [v.name for v in known])
