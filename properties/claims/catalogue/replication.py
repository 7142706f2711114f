"""The claims about replicas, the in-sync set and elections."""

from __future__ import annotations

from typing import Final

from model.releases import LATEST, kafka
from properties.claims.claim import Claim, Decider

REPLICATION: Final = (
    Claim(
        id="committed_definition",
        group="replication",
        statement=(
            "A record is committed when every in-sync replica has it (since Kafka 3.7: and at "
            "least min.insync.replicas replicas are in sync)."
        ),
        broken_by=(
            "An in-sync replica truncates its log to its own high watermark, or the high "
            "watermark advances with too few replicas in sync."
        ),
        source="docs/sources.md DOC3",
        in_force=kafka("0.8", LATEST, "with min.insync.replicas since 3.7"),
        decided_by=(
            Decider("suite", "elections"),
            Decider("model", "replication.strong_isr"),
        ),
    ),
    Claim(
        id="committed_survives",
        group="replication",
        statement="A committed record is not lost while one in-sync replica lives.",
        broken_by=(
            "A replica truncates to its high watermark, or a send is acknowledged before it is "
            "replicated."
        ),
        source="docs/sources.md DOC0, DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(
            Decider("suite", "replication"),
            Decider("proof", "reassignment-abstract.eligible_replicas_have_committed_records"),
            Decider("proof", "reassignment-abstract.leaders_begin_with_committed_records"),
            Decider("model", "replication.strong_isr"),
        ),
    ),
    Claim(
        id="identical_replicas",
        group="replication",
        statement=(
            "All replicas have the same records at the same offsets, up to the last committed "
            "record."
        ),
        condition=(
            "Each replica compacts and deletes on its own, so only offsets that both replicas "
            "still hold (at or above both log start offsets) are compared."
        ),
        broken_by=(
            "After an unclean election a replica that was away returns with records at offsets "
            "that now hold other records."
        ),
        source="docs/sources.md DOC0, DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(
            Decider("suite", "elections"),
            Decider("model", "replication.weak_isr"),
        ),
    ),
    Claim(
        id="reads_are_committed",
        group="replication",
        statement="Consumers read only committed records.",
        broken_by="A leader returns records above its high watermark, and dies.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "replication"),),
    ),
    Claim(
        id="acks_levels",
        group="replication",
        statement=(
            "When a broker fails, acks=0 and acks=1 can lose a record that the producer counts as"
            " sent, and acks=all with min.insync.replicas loses no committed record."
        ),
        broken_by="With acks=all every acknowledged record is replicated, so none is lost.",
        source="docs/sources.md DOC0, DOC3",
        in_force=kafka("0.8.2", LATEST, "min.insync.replicas is new in 0.8.2"),
        decided_by=(Decider("suite", "replication"),),
    ),
    Claim(
        id="isr_shrinks",
        group="replication",
        statement=(
            "A failed replica leaves the in-sync set, which may shrink to the leader alone: the "
            "leader then commits alone if min.insync.replicas=1 (or before Kafka 3.7), and "
            "otherwise the high watermark stops."
        ),
        broken_by="With min.insync.replicas=2 a leader that is alone in sync commits nothing.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.8.2", LATEST, "the high watermark stops since 3.7"),
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="min_isr_refuses",
        group="replication",
        statement=(
            "With fewer than min.insync.replicas replicas in sync a send with acks=all is "
            "refused: the partition gives up availability, not durability."
        ),
        broken_by=(
            "A leader acknowledges before its followers have the record, or ignores the number of"
            " in-sync replicas."
        ),
        source="Kafka documentation, 'Replication'",
        in_force=kafka("0.8.2", LATEST),
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="survives_f_failures",
        group="replication",
        statement=(
            "With f+1 replicas, all in sync, a committed record survives f failures; a smaller "
            "in-sync set survives fewer, and the partition then waits for its last member "
            "(wait_for_last_leader)."
        ),
        broken_by="All f+1 machines lose power before the record is flushed.",
        source="Kafka documentation, 'Replication'",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="clean_election",
        group="replication",
        statement=(
            "When the leader fails and an in-sync replica lives, that replica becomes leader, "
            "clients see only retriable errors, and no record acknowledged with acks=all is lost."
        ),
        broken_by=(
            "With unclean elections another replica is elected, and the records that it lacks are"
            " lost."
        ),
        source="docs/sources.md DOC3",
        in_force=kafka("0.8.2", LATEST, "the default since 0.11"),
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="wait_for_last_leader",
        group="replication",
        statement=(
            "When all replicas are down, the partition waits for the last in-sync one: it is "
            "unavailable, but it loses nothing if that replica returns with its whole log (an "
            "unflushed tail is lost: KIP-966)."
        ),
        broken_by=(
            "An unclean election does not wait, or a machine that lost power returns without the "
            "end of its log."
        ),
        source="docs/sources.md DOC3",
        in_force=kafka("0.8.2", LATEST, "the default since 0.11"),
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="unclean_election",
        group="replication",
        statement=(
            "When all replicas are down and elections are unclean, the first replica that returns"
            " leads: the records that it lacks are lost, and the other replicas truncate theirs."
        ),
        broken_by="With clean elections the partition waits for the last in-sync replica.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="writes_to_leader",
        group="replication",
        statement=(
            "All writes of a partition, and by default all reads, go through one leader; a record "
            "that only a stale leader acknowledged (acks=1) is not committed."
        ),
        broken_by="After an unclean election committed records are replaced.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.8", LATEST, "reads from followers since 2.4"),
        decided_by=(Decider("suite", "elections"),),
    ),
)
