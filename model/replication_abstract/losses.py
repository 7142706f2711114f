"""Abstract replication with steps that lose committed records, and with variables that describe the
losses.

A committed record is lost when a leader begins to lead without it. From then on, exactly the
records in the log of this leader count as committed, so the claims hold again. For each leader
epoch, the variable `lost` stores the committed records that the epoch's leader lacked when it
began. A leader epoch is *lossy* if its leader may lack committed records.

The table lists the actions that this version adds, each with its effect:

    elect_unclean          a replica outside the ISR leads: unclean.leader.election.enable=true
    elect_last_known       the ISR is empty, and the last leader leads, even if it has lost records
    lose_power, lose_disk  a replica restarts with a shorter log: what was flushed, or nothing
    become_leader_without  a leader begins, and committed records that it lacks are lost
    flush                  a replica writes its log to the disk, up to an offset
    commit_too_late        a deposed leader commits records that the leader of a newer, lossy epoch
                           lacked when it began; these records are lost at once

The ISR of this spec models the ISR and the ELR of Kafka, as in the version `kip-497`.

Source: KIP-106 (unclean elections); KIP-966 (a restart without a clean shutdown ends membership in
the ISR and the ELR); PartitionChangeBuilder (last known leader); UnifiedLog.flush.
Simplified: when a replica loses records, the leader forgets which offset this replica has fetched.
Kafka's leader compares broker epochs instead (KIP-903). This version has no proof, so the history
variables of the proof in the version `kip-497` are unused.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Int,
    Map,
    Record,
    Scope,
    Set,
    action,
    all_of,
    exists,
    false,
    forall,
    implies,
    ite,
    least_of,
    true,
    when,
)
from model.replication_abstract.claims import AbstractReplication
from model.replication_abstract.state import LeaderEpoch, Offset, Replica


class Faults(Int):
    """The number of steps so far that may lose records. The constant `max_faults` limits this
    number.
    """


class Loss(Record):
    """The committed records that a new leader lacked when it began to lead. Their offsets run from
    `kept` to `end - 1`.
    """

    kept: Offset
    end: Offset


class LossyReplication(AbstractReplication):
    """Abstract replication with unclean elections, elections of the last known leader, and lost
    logs.
    """

    max_faults: Annotated[int, range(1_000)] = 1

    faults: Faults
    flushed: Map[Replica, Offset]  # a power loss keeps the records below
    leads_from: Map[Replica, LeaderEpoch]  # the newest when it last lost records: metadata it has
    unsettled: Bool  # since a step that may lose records, no leader of the newest epoch has begun
    lossy: Set[LeaderEpoch]  # elected while unsettled: the leader may lack committed records
    lost: Map[LeaderEpoch, Loss]
    late: Map[LeaderEpoch, Offset]  # what its leader committed up to, after a lossy epoch began

    def scope(s) -> Scope:
        return {**super().scope(), Faults: range(s.max_faults + 1)}

    def needs_fault(s) -> None:
        """Adds one to the number of faults. If this number is already `max_faults`, the action that
        calls this method is disabled.
        """
        when(s.faults < s.max_faults)
        s.faults = s.faults + 1

    # ---- the controller

    @action
    def elect(s, leader: Replica, newer: LeaderEpoch) -> None:
        """The controller begins a larger leader epoch, with a member of the ISR as leader.

        Kafka: PartitionChangeBuilder.electLeader.
        Simplified: an election may happen at any time.
        Without the guard that the leader is in the ISR, the claim `isr_has_what_is_committed`
        breaks in 5 steps.
        """
        super().elect(leader, newer)
        s.lossy[newer] = s.unsettled

    @action
    def elect_nobody(s, newer: LeaderEpoch) -> None:
        """The controller begins a larger leader epoch without a leader, because no member of the
        ISR can lead.

        Kafka: PartitionChangeBuilder.electLeader, when no member of the ISR is alive.
        Simplified: this step may happen at any time.
        Without the guard that the epoch is larger, the claim `isr_has_what_is_committed` breaks in
        7 steps.
        """
        super().elect_nobody(newer)
        s.lossy[newer] = s.unsettled

    @action
    def elect_unclean(s, leader: Replica, newer: LeaderEpoch) -> None:
        """The controller elects a replica outside the ISR, which becomes the only member of the
        ISR.

        Kafka: PartitionChangeBuilder.electLeader, with unclean.leader.election.enable=true or at an
        operator's request.
        Simplified: this election may happen even if a member of the ISR is alive.
        Without the guard that the new leader epoch is larger than the newest one, the claim
        `isr_has_what_is_committed` breaks in 7 steps.
        """
        s.needs_fault()
        when(s.newest < newer, ~s.isr[s.newest][leader])
        s.elect_alone(leader, newer)

    def is_last_leader(s, r: Replica) -> Bool:
        return exists(
            all_of(
                s.elected[e],
                s.leads_in(r, e),
                forall(implies((e < f) & s.elected[f], s.vacant[f]) for f in LeaderEpoch),
            )
            for e in LeaderEpoch
        )

    @action
    def elect_last_known(s, leader: Replica, newer: LeaderEpoch) -> None:
        """The ISR is empty, so the controller elects the last known leader: the leader of the
        newest epoch that has a leader.

        Kafka: PartitionChangeBuilder.canElectLastKnownLeader, with
        eligible.leader.replicas.version=1.
        Simplified: the replica may be dead.
        Without the guard that the new leader epoch is larger than the newest one, the claim
        `isr_has_what_is_committed` breaks in 10 steps. Every claim also holds if the ISR need not
        be empty, or if any replica may be elected.
        """
        s.needs_fault()
        when(
            s.newest < newer,
            forall(~s.isr[s.newest][r] for r in Replica),
            s.is_last_leader(leader),
        )
        s.elect_alone(leader, newer)

    def elect_alone(s, leader: Replica, newer: LeaderEpoch) -> None:
        s.elected[newer] = true
        s.leader[newer] = leader
        for r in Replica:
            s.first_isr[newer][r] = r == leader
            s.isr[newer][r] = r == leader
        s.lossy[newer] = true
        s.unsettled = true
        s.newest = newer

    # ---- replicas after an election

    def depart(s, r: Replica, newer: LeaderEpoch) -> None:
        """Does nothing. The history variable `departure` is needed only for a proof, and this
        version has no proof.
        """

    def is_replaced(s, e: LeaderEpoch) -> Bool:
        """Returns True if a leader has begun to lead in a lossy epoch that is larger than `e`. The
        leader of a lossy epoch may lack committed records.
        """
        return exists((e < f) & s.lossy[f] & s.led[f].begun for f in LeaderEpoch)

    def may_lack(s, e: LeaderEpoch) -> Bool:
        """Returns True if the leader of the epoch `e` may lack committed records when it begins to
        lead.
        """
        return s.lossy[e] & ~s.is_replaced(e)

    @action
    def become_leader(s, r: Replica, newer: LeaderEpoch) -> None:
        """A replica begins to lead with its own log, which has every committed record.

        Kafka: Partition.makeLeader.
        Simplified: the replica may learn of its election at any later time.
        A leader that may lack committed records (`may_lack`) takes the action
        `become_leader_without` instead. Without the guard that `may_lack` is false, the claim
        `high_watermarks_are_committed` breaks in 8 steps.
        """
        when(~s.may_lack(newer), s.leads_from[r] <= newer)
        super().become_leader(r, newer)

    def has_up_to(s, r: Replica, kept: Offset) -> Bool:
        """Returns True if `kept` is the offset of the first committed record that the replica
        lacks.

        If the replica lacks no committed record, `kept` must be the end offset of the committed
        records.
        """
        return all_of(
            kept <= s.committed_end,
            forall(implies(o < kept, s.has_committed(r, o)) for o in Offset),
            (kept == s.committed_end) | ~s.has_committed(r, kept),
        )

    @action
    def become_leader_without(s, r: Replica, newer: LeaderEpoch, kept: Offset) -> None:
        """A replica begins to lead with its own log. The committed records that it lacks are lost.

        The replica is the only member of its ISR, so all records of its log count as committed from
        now on.

        Kafka: Partition.makeLeader, after an unclean election or a lost log.
        Simplified: the replica may learn of its election at any later time.
        Without the guard `may_lack`, the claim `isr_has_what_is_committed` breaks in 3 steps.
        """
        when(s.may_lack(newer), s.leads_from[r] <= newer, s.has_up_to(r, kept))
        was_end, end = s.committed_end, s.replica[r].end_offset
        for o in Offset:
            is_new = (kept <= o) & (o < end)
            s.committed[o] = ite(is_new, s.replica[r].entry[o], s.committed[o])
        s.committed_end = end
        s.lost[newer].kept = kept
        s.lost[newer].end = was_end
        s.unsettled = s.unsettled & (newer != s.newest)
        super().become_leader(r, newer)

    # ---- followers

    @action
    def truncate(s, r: Replica, end: Offset) -> None:
        """A follower truncates its log. The leader's log contains none of the removed records.

        Kafka: ReplicaFetcherThread.truncate, UnifiedLog.truncateTo.
        Without the guard that the leader lacks the removed records, the claim
        `isr_has_what_is_committed` breaks in 5 steps. If the high watermark stays beyond the end of
        the log, the claim `high_watermarks_are_committed` breaks (bug `high-watermark-beyond-log`,
        7 steps).
        """
        super().truncate(r, end)
        s.replica[r].high_watermark = s.mark_after(r, end)
        s.flushed[r] = least_of(end, s.flushed[r])

    def mark_after(s, r: Replica, end: Offset) -> Offset:
        return least_of(end, s.replica[r].high_watermark)

    # ---- leaders

    @action
    def advance_high_watermark(s, r: Replica, mark: Offset) -> None:
        """A leader commits the records that every member of its maximal ISR has fetched.

        The maximal ISR of a leader includes the ISR and the replicas that the leader has proposed
        as members.

        Kafka: Partition.maybeIncrementLeaderHW.
        Simplified: min.insync.replicas is 1.
        A leader is replaced if a leader of a later, lossy epoch has begun to lead (`is_replaced`).
        A replaced leader takes the action `commit_too_late` instead. Without the guard that the
        leader is not replaced, the claim `isr_has_what_is_committed` breaks in 6 steps.
        """
        when(~s.is_replaced(s.replica[r].leader_epoch))
        super().advance_high_watermark(r, mark)

    @action
    def commit_too_late(s, r: Replica, mark: Offset) -> None:
        """A deposed leader commits records that a newer leader lacks. These records count as lost
        at once.

        Kafka: Partition.maybeIncrementLeaderHW, after an unclean election or a lost log.

        Without the guard that a newer leader has replaced this leader, the claim
        `high_watermarks_are_committed` breaks in 4 steps.
        """
        own = s.replica[r].leader_epoch
        when(s.is_replaced(own))
        s.needs_fetches_up_to(r, mark)
        s.late[own] = mark
        s.replica[r].high_watermark = mark
        s.led[own].high_watermark = mark

    def may_join(s, f: Replica, own: LeaderEpoch) -> Bool:
        """Returns True if the follower `f` has fetched enough from the leader of the epoch `own` to
        join the ISR.

        The follower must have fetched up to the leader's high watermark, and up to the offset at
        which the epoch began. If both offsets are 0, a follower that has fetched nothing may join,
        too. Such a follower must be in the epoch `own`, and its log must agree with the leader's
        log.
        """
        is_copy = all_of(
            s.replica[f].leader_epoch == own,
            forall(implies(o < s.replica[f].end_offset, s.agrees(f, o)) for o in Offset),
        )
        return super().may_join(f, own) & ((Offset.least() < s.led[own].fetched[f]) | is_copy)

    # ---- disks

    @action
    def flush(s, r: Replica, end: Offset) -> None:
        """A replica writes its log to the disk, up to an offset.

        Kafka: UnifiedLog.flush.
        Simplified: the operating system does not flush by itself.
        """
        when(s.flushed[r] < end, end <= s.replica[r].end_offset)
        s.flushed[r] = end

    def may_lose(s, r: Replica) -> Bool:
        """Returns True if the replica is outside the ISR, or is the only member of the ISR. Only
        such a replica may lose records.

        In Kafka, a member of a larger ISR can lose records too, but it leaves the ISR before it can
        lead. The only member stays in the ISR (before KIP-966). If any member may lose records and
        stay in the ISR, the claim `isr_has_what_is_committed` breaks (bug `lost-tail-in-isr`, 5
        steps).
        """
        members = s.isr[s.newest]
        return ~members[r] | forall(implies(members[x], x == r) for x in Replica)

    @action
    def lose_power(s, r: Replica, end: Offset) -> None:
        """A replica restarts after a power loss, and may lose records that it had not flushed.

        Kafka: only the records that UnifiedLog.flush wrote are sure to survive.
        Simplified: the stop and the restart are one step.
        Without the guard `may_lose`, the claim `isr_has_what_is_committed` breaks in 5 steps. Every
        claim also holds without the guards on `end`.
        """
        s.needs_fault()
        when(s.flushed[r] <= end, end < s.replica[r].end_offset, s.may_lose(r))
        s.restart_with(r, end)

    @action
    def lose_disk(s, r: Replica) -> None:
        """A replica restarts with an empty disk.

        Kafka: the broker creates an empty log (LogManager.getOrCreateLog).
        Simplified: the stop and the restart are one step.
        Without the guard `may_lose`, the claim `isr_has_what_is_committed` breaks in 5 steps. Every
        claim also holds without the guard that the log is not empty.
        """
        s.needs_fault()
        when(Offset.least() < s.replica[r].end_offset, s.may_lose(r))
        s.flushed[r] = Offset.least()
        s.restart_with(r, Offset.least())

    def restart_with(s, r: Replica, end: Offset) -> None:
        is_member, has_begun = s.isr[s.newest][r], s.led[s.newest].begun
        own, mark = s.replica[r].leader_epoch, s.mark_after(r, end)
        s.leads_from[r] = s.newest
        s.lossy[s.newest] = s.lossy[s.newest] | (is_member & ~has_begun)
        s.unsettled = s.unsettled | is_member
        s.led[own].fetched[r] = Offset.least()
        s.forget_proposals(r)
        s.replica[r].high_watermark = mark
        s.replica[r].end_offset = end
        s.replica[r].is_leader = false

    def forget_proposals(s, r: Replica) -> None:
        """Removes the leader's ISR proposals that a restart of the replica `r` invalidates. If `r`
        leads, all proposals are removed. Otherwise, only the proposal to add `r` is removed
        (KIP-903).

        Without this rule, the claim `isr_has_what_is_committed` breaks (bug `old-broker-epoch`, 9
        steps).
        """
        for f in Replica:
            is_kept = (f != r) & ~s.leads_in(r, s.newest)
            s.led[s.newest].proposed[f] = s.led[s.newest].proposed[f] & is_kept
