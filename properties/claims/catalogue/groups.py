"""The claims about consumer groups, and one claim about the cost of exactly-once."""

from __future__ import annotations

from typing import Final

from model.releases import LATEST, kafka
from properties.claims.claim import Claim, Decider

GROUPS: Final = (
    Claim(
        id="one_owner",
        group="groups",
        statement=(
            "Inside a group each partition has one owner per generation or member epoch, and the "
            "group as a whole reads every partition."
        ),
        condition=(
            "Not by the clock: a member that missed a rebalance may continue to process, but its "
            "commits are refused."
        ),
        broken_by=(
            "Consumers assign partitions to themselves, or the coordinator forgets the owner of a"
            " partition and assigns it to another member."
        ),
        source="docs/sources.md DOC3",
        in_force=kafka("0.9", LATEST, "member epochs since 3.7"),
        decided_by=(
            Decider("suite", "groups"),
            Decider("proof", "consumer-group-abstract.no_double_assignment"),
            Decider("proof", "consumer-group-abstract.one_reader"),
            Decider("proof", "classic-group-abstract.one_owner"),
            Decider("proof", "classic-group-abstract.only_owners_commit"),
        ),
    ),
    Claim(
        id="idle_members",
        group="groups",
        statement=(
            "A group with more members than partitions has idle members, one with fewer has "
            "members that own several partitions, and in one with as many each member owns one."
        ),
        broken_by="Consumers assign all partitions to themselves.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.9", LATEST),
        decided_by=(Decider("suite", "groups"),),
    ),
    Claim(
        id="position_resumes",
        group="groups",
        statement="After a failure the new owner of a partition resumes at the committed position.",
        broken_by=(
            "The group was empty for longer than the offset retention, and its committed position"
            " expired."
        ),
        source="docs/sources.md DOC0, DOC3",
        in_force=kafka("0.9", LATEST),
        decided_by=(
            Decider("suite", "groups"),
            Decider("history", "group-offset-went-backwards"),
            Decider("history", "group-offset-moved-without-commit"),
        ),
    ),
    Claim(
        id="exactly_once_costs",
        group="cost",
        statement=(
            "Transactions and per-record offset commits cost throughput, compared with "
            "at-least-once on the same broker at several transaction sizes."
        ),
        condition="A benchmark measures the cost; it never sets an exit code.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.11", LATEST),
        explained="A cost is measured: it neither holds nor fails, so no run decides it.",
    ),
)
