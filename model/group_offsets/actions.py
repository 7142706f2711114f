"""DOC group_offsets actions"""

from __future__ import annotations

from model.group_offsets.state import (
    Commit,
    Entry,
    Group,
    GroupOffsetsState,
    LogOffset,
    Member,
    Offset,
)
from model.language import (
    Bool,
    Nothing,
    action,
    all_of,
    exists,
    false,
    first,
    ite,
    nothing,
    true,
    when,
)


class GroupOffsetsActions(GroupOffsetsState):
    """DOC GroupOffsetsActions"""

    # ---- what a record does

    def append(s, entry: Entry) -> None:
        at = s.end_offset
        when(s.serves(), at < s.log_size)
        s.log[at] = entry
        s.end_offset = at + 1
        s.apply(entry, at)

    def apply(s, entry: Entry, at: LogOffset) -> None:
        committed, waiting = s.cache.committed, s.cache.pending[entry.producer]
        counts = all_of(entry.is_marker(), s.commits(entry), s.outranks(waiting, committed))
        own = Commit(offset=entry.offset, at=at)
        none = Commit.blank()
        s.cache.committed = ite(
            entry.in_transaction,
            ite(counts, waiting, committed),
            ite(entry.is_tombstone(), none, own),
        )
        for m in Member:
            mine = entry.in_transaction & (entry.producer == m)
            s.cache.pending[m] = ite(
                entry.is_tombstone() | (mine & entry.is_marker()),
                none,
                ite(mine, own, s.cache.pending[m]),
            )
        s.cache.loaded = at + 1

    def commits(s, marker: Entry) -> Bool:
        return marker.commits

    def outranks(s, waiting: Commit, committed: Commit) -> Bool:
        """What stands later in the log counts, whenever its marker comes."""
        later = (committed.offset == nothing) | (committed.at < waiting.at)
        return (waiting.offset != nothing) & later

    # ---- failover

    @action
    def fail_over(s) -> None:
        """Another coordinator takes over, and knows nothing yet."""
        for m in Member:
            s.cache.pending[m] = Commit.blank()
        s.cache.committed = Commit.blank()
        s.cache.loaded = LogOffset(0)

    def read(s, at: LogOffset) -> Entry:
        """What a record of the log means to a coordinator that takes over."""
        return s.log[at]

    @action(fair="weak")
    def load(s) -> None:
        """The new coordinator reads the next record of the log."""
        at = s.cache.loaded
        when(at < s.end_offset)
        s.apply(s.read(at), at)

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

    def may_return_offset(s) -> Bool:
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
            s.may_return_offset(),
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
