"""Consumers of a group read, process and commit in transactions, while the group rebalances.

A consumer that takes a partition over begins where the group has committed; once a transaction's
commit is pending nobody can tell where that is, so it waits. What it writes and the offset up to
which it has read are one transaction. A consumer may miss that the group went on without it: its
producer is fenced by nobody, so the commit tells the generation in which it read.

Source: KIP-98, KIP-447; KIP-211 and KIP-496 on what drops offsets; kafka 3.7 GroupMetadata.
Simplified: the group's own state survives a failover (`group_generations` is about that). A
transaction is decided in one step, and its marker comes later. A consumer has sent its offset
before it ends the transaction. Requests are answered at once, but an answer may be old news.
"""

from __future__ import annotations

from typing import Annotated, Self

from model.group_offsets.coordinator import Coordinator, Entry, LogOffset, Member, Offset
from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Record,
    Scope,
    Set,
    Temporal,
    action,
    action_property,
    all_of,
    exists,
    false,
    first,
    forall,
    implies,
    invariant,
    leads_to,
    liveness,
    nothing,
    true,
    when,
    witness,
)


class Generation(Int):
    """Counts the assignments of a group."""


class Group(Record):
    """What the coordinator knows of its members."""

    generation: Generation
    owner: Member | Nothing  # of the partition; nobody: the group is empty
    is_rebalancing: Bool


class Consumer(Record):
    """What a member knows of itself."""

    generation: Generation  # the latest that it has heard of
    reads: Bool  # the partition, which it believes to own
    position: Offset  # the next record that it reads
    written: Set[Offset]  # inputs whose output its open transaction has
    sent: Bool  # its offset, in this transaction
    ended: Bool  # the transaction is decided, its marker on the way
    committed: Bool  # by that decision


class GroupOffsets(Coordinator):
    """KIP-447: transactional commits tell their generation; what is pending hides the offset."""

    generations: Annotated[int, range(1, 10)] = 2

    group: Group
    consumer: Map[Member, Consumer]
    # what happened
    output: Set[Offset]  # inputs whose output is committed
    repeated: Set[Offset]  # more than once
    was_reset: Bool  # somebody asked for inputs to be read again

    def scope(s) -> Scope:
        return {**super().scope(), Generation: range(s.generations + 1)}

    # ---- the group

    def is_empty(s) -> Bool:
        return (s.group.owner == nothing) & ~s.group.is_rebalancing

    @action
    def begin_rebalance(s) -> None:
        """A member joins, leaves or is missed."""
        when(~s.group.is_rebalancing)
        s.group.is_rebalancing = true

    def assign(s, owner: Member | Nothing) -> None:
        when(s.group.is_rebalancing, s.group.generation < s.generations)
        s.group = Group(generation=s.group.generation + 1, owner=owner, is_rebalancing=false)

    @action
    def complete_rebalance(s, owner: Member) -> None:
        """The partition has an owner; who took no part hears of it later."""
        s.assign(owner)

    @action
    def lose_all_members(s) -> None:
        """Nobody joined again."""
        s.assign(nothing)

    # ---- a consumer

    def has_nothing_open(s, m: Member) -> Bool:
        return all_of(~s.consumer[m].sent, ~exists(s.consumer[m].written[x] for x in Offset))

    def stop_reading(s, m: Member) -> None:
        s.consumer[m].reads = false
        s.consumer[m].position = Offset(0)

    @action
    def hear_of_generation(s, m: Member) -> None:
        """A member learns that the group went on; what it had begun it has aborted."""
        when(s.consumer[m].generation < s.group.generation, s.has_nothing_open(m))
        s.consumer[m].generation = s.group.generation
        s.stop_reading(m)

    def may_tell(s) -> Bool:
        """With requireStable no offset is told while one is pending."""
        return s.is_stable()

    @action
    def fetch_offset(s, m: Member) -> None:
        """The owner begins where the group has committed."""
        when(
            s.group.owner == m,
            s.consumer[m].generation == s.group.generation,
            ~s.consumer[m].reads,
            ~s.consumer[m].ended,
            s.serves(),
            s.may_tell(),
        )
        s.consumer[m].reads = true
        s.consumer[m].position = first(
            Offset, lambda x: s.cache.committed.offset == x, default=Offset(0)
        )

    @action
    def process(s, m: Member) -> None:
        """The consumer reads the next input, and writes its output into the open transaction."""
        c = s.consumer[m]
        at = c.position
        when(c.reads, at < s.inputs, ~c.sent)
        s.consumer[m].written[at] = true
        s.consumer[m].position = at + 1

    # ---- commits

    def accepts(s, m: Member) -> Bool:
        """It was sent in the group's generation; a rebalance that is under way is no fault."""
        return s.consumer[m].generation == s.group.generation

    @action
    def commit_in_transaction(s, m: Member) -> None:
        """TxnOffsetCommit: up to where its outputs go, the consumer's offset is pending."""
        c = s.consumer[m]
        when(c.reads, ~c.sent, exists(c.written[x] for x in Offset), s.accepts(m))
        s.append(Entry.of_transaction(m, c.position))
        s.consumer[m].sent = true

    @action
    def commit(s, m: Member) -> None:
        """OffsetCommit, outside transactions: the offset counts at once."""
        c = s.consumer[m]
        when(c.reads, s.has_nothing_open(m), s.accepts(m))
        s.append(Entry.plain(c.position))

    @action
    def commit_too_much(s, m: Member) -> None:
        """A commit with more metadata than is allowed is refused."""
        when(s.consumer[m].reads, s.has_nothing_open(m), s.accepts(m), s.serves())

    # ---- the end of a transaction

    @action
    def end_commit(s, m: Member) -> None:
        """The transaction's outputs count; its marker is sent to the log of the group."""
        c = s.consumer[m]
        when(c.sent, ~c.ended)
        for x in c.written:
            s.repeated[x] = s.repeated[x] | s.output[x]
            s.output[x] = true
            s.consumer[m].written[x] = false
        s.consumer[m].ended = true
        s.consumer[m].committed = true

    @action(fair="weak")
    def end_abort(s, m: Member) -> None:
        """The consumer aborts, or its transaction is too old; it will read its inputs again."""
        c = s.consumer[m]
        when(~s.has_nothing_open(m), ~c.ended)
        for x in Offset:
            s.consumer[m].written[x] = false
        s.consumer[m].ended = c.sent
        s.consumer[m].reads = false
        s.consumer[m].position = Offset(0)

    @action(fair="strong")
    def write_marker(s, m: Member) -> None:
        """What the transaction has pending in the group is decided."""
        c = s.consumer[m]
        when(c.ended)
        s.append(Entry.of_transaction(m, nothing, commits=c.committed))
        s.consumer[m].sent = false
        s.consumer[m].ended = false
        s.consumer[m].committed = false

    # ---- what drops and moves offsets

    @action
    def reset_offset(s, to: Offset) -> None:
        """An operator commits for a group without members."""
        when(s.is_empty())
        s.append(Entry.plain(to))
        s.was_reset = true

    def may_expire(s) -> Bool:
        return s.is_empty()

    @action
    def expire_offset(s) -> None:
        """Nobody was in the group for as long as offsets are kept."""
        when(s.may_expire(), s.cache.committed.offset != nothing, s.is_stable())
        s.append(Entry.plain(nothing))
        s.was_reset = true

    @action
    def delete_group(s) -> None:
        """The group is deleted, with its offsets; its name may be used again."""
        has_been = (s.group.generation > 0) | (s.cache.committed.offset != nothing)
        when(s.is_empty(), s.is_stable(), has_been)
        s.append(Entry.plain(nothing, ends_group=true))
        s.was_reset = true

    # ---- what is claimed

    @invariant
    def each_input_once(s) -> Bool:
        """No input is in the committed output twice, unless somebody had it read again."""
        return s.was_reset | forall(~s.repeated[x] for x in Offset)

    @invariant
    def no_input_is_skipped(s) -> Bool:
        """What is below the committed offset is in the output."""
        return s.was_reset | forall(
            implies(
                s.cache.committed.offset == to, forall(implies(x < to, s.output[x]) for x in Offset)
            )
            for to in Offset
        )

    @action_property
    def commits_are_current(s, after: Self) -> Bool:
        """A member's commit is accepted in the group's generation only."""
        return forall(
            implies(
                ~s.consumer[m].sent & after.consumer[m].sent,
                s.consumer[m].generation == s.group.generation,
            )
            for m in Member
        )

    @action_property
    def told_offsets_are_stable(s, after: Self) -> Bool:
        """A consumer begins where nothing is pending."""
        return forall(
            implies(~s.consumer[m].reads & after.consumer[m].reads, s.is_stable()) for m in Member
        )

    @action_property
    def committed_offsets_last(s, after: Self) -> Bool:
        """A group that is not empty keeps the offset that it has committed."""
        forgets = (s.cache.committed.offset != nothing) & (after.cache.committed.offset == nothing)
        return implies(all_of(s.serves(), after.serves(), forgets), s.is_empty())

    @liveness
    def pending_is_decided(s, m: Member) -> Temporal:
        """A pending offset does not stay so, while the log has room."""
        return leads_to(s.is_pending(m), ~s.is_pending(m) | (s.end_offset == s.log_size))

    # ---- what must be possible

    @witness
    def a_transaction_commits_an_offset(s) -> Bool:
        """The offset that counts was committed in a transaction."""
        return s.serves() & exists(
            all_of(s.counts(at), s.log[at].in_transaction, s.cache.committed.at == at)
            for at in LogOffset
        )

    @witness
    def a_later_commit_outranks_a_pending_one(s) -> Bool:
        """What was committed while another commit was pending counts after its marker, too."""
        known = s.cache.committed
        return all_of(s.serves(), known.offset != nothing) & exists(
            all_of(
                s.counts(at),
                at < known.at,
                known.at < marker,
                marker < s.end_offset,
                s.ends(marker, at),
            )
            for at in LogOffset
            for marker in LogOffset
        )

    @witness
    def a_member_is_behind(s) -> Bool:
        """A consumer has something written in a generation that the group has left."""
        return exists(
            all_of(s.consumer[m].generation < s.group.generation, s.consumer[m].written[x])
            for m in Member
            for x in Offset
        )

    @witness
    def a_takeover_waits(s) -> Bool:
        """The owner cannot begin, since something is pending."""
        return exists(
            all_of(s.group.owner == m, ~s.consumer[m].reads, ~s.is_stable()) for m in Member
        )
