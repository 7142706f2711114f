"""The table of specs, with the variants (versions and bugs) of each spec.

Detailed specs are close to Kafka's code. Their state spaces are explored. Abstract specs are small
enough for proofs, which cover any number of replicas, epochs, offsets and transactions.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

from model.faults import UnknownName
from model.user_specs import load
from model.variants import Variant

# The variants of `group-offsets` are `model.group_offsets.VARIANTS`. A spec is imported when it is
# used: all of them take a tenth of a second.
SPECS: Final = (
    "replication",
    "election",
    "reassignment",
    "group-offsets",
    "classic-group",
    "consumer-group",
    "share-group",
    "retention",
    "quorum",
    "transactions",
    "idempotence",
    "replication-abstract",
    "transactions-abstract",
    "idempotence-abstract",
    "quorum-abstract",
    "read-committed-abstract",
    "consumer-group-abstract",
    "classic-group-abstract",
    "coordinator-abstract",
    "reassignment-abstract",
    "pipeline-abstract",
    "share-group-abstract",
    "retention-abstract",
)


@cache
def all_variants() -> tuple[Variant, ...]:
    """Returns the variants of all specs, spec by spec in the order of `SPECS`."""
    return tuple(variant for spec in SPECS for variant in variants_of(spec))


def variants_of(spec: str) -> tuple[Variant, ...]:
    """Returns the variants of a spec. The versions come before the bugs.

    `spec` is a name in `SPECS`, or the path of a .py file. Raises UnknownName for an unknown name,
    and SpecError for a file that cannot be loaded.
    """
    if spec.endswith(".py"):
        return load(Path(spec))
    if spec not in SPECS:
        raise UnknownName("spec", spec, SPECS)
    variants: tuple[Variant, ...] = import_module(f"model.{spec.replace('-', '_')}").VARIANTS
    return variants


def find(spec: str, variant: str | None = None) -> Variant:
    """Returns the variant of the spec with this name. If `variant` is None, returns the default
    variant of the spec.

    Raises UnknownName if the spec or the variant does not exist.
    """
    known = variants_of(spec)
    for row in known:
        if row.name == variant or (variant is None and row.default):
            return row
    raise UnknownName("variant", str(variant), [v.name for v in known], of=spec)
