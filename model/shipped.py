"""Finds the version of a spec that models a Kafka release, and the bugs of this release.

The default version of a spec may model a proposal that no release contains. So the version of a
release may be another version than the default.

    >>> of_release = shipped("reassignment", "4.3")
    >>> of_release.version.name, fix_of(of_release.version).name
    ('kafka-4.3', 'elr-of-replicas')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.faults import InputFault
from model.releases import InForce, kafka, newest_patch
from model.specs import find, variants_of
from model.variants import Variant

# Releases for which a spec has no version, and why; a test finds every missing entry.
WITHOUT_VERSION: Final[Mapping[str, tuple[tuple[InForce, str], ...]]] = {
    "election": (
        (kafka("0.8.0", "2.7"), "ZooKeeper's controller elected the leaders"),
        (
            kafka("3.5", "3.6"),
            "these releases compare broker epochs, but commit below min.insync.replicas; "
            "no version has both rules",
        ),
    ),
    "reassignment": ((kafka("0.8.0", "4.0"), "by default there was no ELR"),),
    "group-offsets": (
        (kafka("0.8.0", "0.10.2"), "there were no transactions"),
        (
            kafka("0.11", "2.4"),
            "these releases have two bugs at once: forgets-generation and returns-unstable",
        ),
    ),
    "classic-group": ((kafka("0.8.0", "2.2"), "there were no static members"),),
    "consumer-group": (
        (kafka("0.8.0", "3.6"), "there were no groups of KIP-848"),
        (
            kafka("3.7", "4.2"),
            "these releases have several bugs at once, such as refuses-return and "
            "wants-exact-epoch",
        ),
    ),
    "share-group": (
        (kafka("0.8.0", "3.9"), "there were no share groups"),
        (
            kafka("4.0", "4.1"),
            "these releases have several bugs at once, such as keeps-expired-lock and "
            "start-offset-waits",
        ),
    ),
    "share-group-abstract": (
        (kafka("0.8.0", "3.9"), "there were no share groups"),
        (kafka("4.0", "4.0"), "this release has the bug skips-gaps"),
        (kafka("4.1", "4.1"), "the rule for the start offset was not compared with this release"),
    ),
    "coordinator-abstract": (
        (kafka("0.8.0", "0.10.2"), "there were no transactions"),
        (kafka("0.11", "3.5"), "these releases have the bug verifies-nothing"),
        (kafka("4.0", "4.1"), "these releases have the bug lax-markers"),
    ),
    "reassignment-abstract": ((kafka("0.8.0", "4.0"), "by default there was no ELR"),),
    "retention-abstract": (
        (kafka("0.8.0", "0.10.2"), "there was no DeleteRecords"),
        (
            kafka("0.11", "3.4"),
            "the rule for joining the ISR was not compared with these releases",
        ),
    ),
    "pipeline-abstract": ((kafka("0.8.0", "0.10.2"), "there were no transactions"),),
    "classic-group-abstract": ((kafka("0.8.0", "2.2"), "there were no static members"),),
    "consumer-group-abstract": (
        (kafka("0.8.0", "3.6"), "there were no groups of KIP-848"),
        (kafka("3.7", "4.2"), "these releases have the bug wants-exact-epoch"),
    ),
    "retention": (
        (kafka("0.8.0", "0.10.2"), "there was no DeleteRecords"),
        (
            kafka("0.11", "3.4"),
            "the rule for joining the ISR was not compared with these releases",
        ),
    ),
    "quorum": ((kafka("0.8.0", "3.2"), "KRaft was no more than a preview"),),
    "quorum-abstract": ((kafka("0.8.0", "3.9"), "only the spec quorum has their rules"),),
    "read-committed-abstract": ((kafka("0.8.0", "0.10.2"), "there were no transactions"),),
    "transactions": ((kafka("0.8.0", "0.10.2"), "there were no transactions"),),
    "idempotence": (
        (kafka("0.8.0", "0.10.2"), "there was no idempotent producer"),
        (
            kafka("2.4", "2.4"),
            "it keeps producer state as kip-360 does, and refuses unknown producers as kip-98 does",
        ),
    ),
    "replication-abstract": (
        (kafka("0.8.0", "2.6"), "leaders wrote the ISR to ZooKeeper; see the spec replication"),
    ),
    "transactions-abstract": (
        (kafka("0.8.0", "0.10.2"), "there were no transactions"),
        (kafka("3.6", "3.9"), "only the spec transactions has their check of each append"),
        (kafka("4.0", "4.1"), "these releases have the bug lax-markers"),
    ),
    "idempotence-abstract": ((kafka("0.8.0", "2.4"), "only the spec idempotence has their rules"),),
}


class NotShipped(InputFault):
    """The error if no version of a spec, or more than one version, has the rules of a Kafka
    release.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """The version of a spec that has the rules of a Kafka release, and the bugs that the release
    has.

    Each bug is a separate variant of the spec. `uncertain` contains a bug if the recorded ranges of
    releases do not decide whether the release has it. A bug that needs a certain broker or client
    setting is neither in `bugs` nor in `uncertain`.
    """

    spec: str
    release: str
    version: Variant
    bugs: tuple[Variant, ...]
    uncertain: tuple[Variant, ...]


def shipped(spec: str, release: str) -> Shipped:
    """Returns the version of the spec that has the rules of a Kafka release, and the bugs of the
    release.

    Raises UnknownName for an unknown release or spec. Raises NotShipped if no version has the rules
    of the release, if more than one version has them, or if `spec` is the file of a user.
    """
    newest_patch(release)
    variants = variants_of(spec)
    if any(row.in_force is None for row in variants):
        raise NotShipped(f"--kafka {release}: {spec} is your own spec\n  choose with --variant")
    has = {row.name: _has(row, release) for row in variants}
    versions = [row for row in variants if row.kind == "version" and has[row.name]]
    if len(versions) != 1:
        raise NotShipped(_explained(spec, release, versions, variants))
    bugs = [row for row in variants if row.kind == "bug"]
    return Shipped(
        spec=spec,
        release=release,
        version=versions[0],
        bugs=tuple(row for row in bugs if has[row.name]),
        uncertain=tuple(row for row in bugs if has[row.name] is None),
    )


def fix_of(variant: Variant) -> Variant:
    """Returns the variant of the spec without the defect of `variant` (a bug or a faulty version).
    The field `fixed_by` of `variant` names the result. If this field is None, the result is the
    default variant of the spec.
    """
    return find(variant.spec, variant.fixed_by)


def why_without_version(spec: str, release: str) -> str:
    """Returns the recorded reason why no version of the spec has the rules of the release, or '' if
    no reason is recorded.
    """
    reasons = WITHOUT_VERSION.get(spec, ())
    return next((reason for releases, reason in reasons if releases.has(release)), "")


def _has(row: Variant, release: str) -> bool | None:
    assert row.in_force is not None
    return False if row.in_force.needs else row.in_force.has(release)


def _explained(
    spec: str, release: str, versions: list[Variant], variants: tuple[Variant, ...]
) -> str:
    if versions:
        found = f"{len(versions)} versions of {spec} have the rules of Kafka {release}"
    else:
        why = why_without_version(spec, release)
        found = f"no version of {spec} has the rules of Kafka {release}" + (why and f": {why}")
    rows = [f"{row.kind} {row.name} is {row.in_force}" for row in variants]
    return "\n  ".join([found, "choose one with --variant:", *rows])
