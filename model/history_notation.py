"""A notation for histories of clients, with one operation in each line. Tests read it, and reports
print it.

Each line of this table has an example on the left and its meaning on the right:

    p1  send k=a        -> ok @0             p1 sent the value a to k; the record has offset 0
    p1  send k=a j=b    -> ok @0 @?          two sends; the second offset is unknown
    c1  poll            -> ok k=a@0 k=c@2    the records that a poll returned
    c1  end_offset k    -> ok @3             the end of the log of k
    t1  txn k=d         -> ok @4 k=a@0       a transaction: offsets of its sends, then its reads
    t1  txn k=e +k@1    -> ok @5             a transaction that commits the offset 1 of k
    c1  fetch_offset k  -> ok @1             the committed offset of c1's group, or `@none`
    c1  start_offset k  -> ok @2             the start of the log of k
    c1  assign k j      -> ok                the assigned keys; `assign -` assigns none
    c1  poll            -> ok k=a@0 ~k       a rebalance gave or took k during the poll
    p2  send k=e        -> info              it may have happened; `fail`: it did not happen
    p2  send k=f        -> never             it never completed

A line stands for ten nanoseconds. Its operation is invoked in the first nanosecond and completes in
the fifth. An operation that overlaps with other operations needs two lines: `p1 send k=a ...` for
the invocation, and later `p1 ... -> ok @0` for the completion. Processes are numbered in the order
of their first lines. Keys and values contain no blank, `=` or `@`. The character `#` begins a
comment.

Attributes follow the name of the operation, in braces:
`txn{id=x,group=g,isolation=read_uncommitted,end=12}`. They are the transactional id, the consumer
group, the isolation level, and the time in ns at which the client requested the end of the
transaction. A group can also commit an offset without a transaction:
`c1 commit_offset{group=g} +k@1 -> ok`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, get_args

from model.histories import (
    Assigned,
    CommitOffset,
    EndOffset,
    FetchOffset,
    History,
    MicroOperation,
    Operation,
    Outcome,
    Poll,
    Rebalanced,
    Send,
    StartOffset,
)

LINE_NS: Final = 10
COMPLETION_NS: Final = 5
OPEN: Final = "..."

_SENT = re.compile(r"(?P<key>[^=@\s]+)=(?P<value>[^=@\s]+)")
_POLLED = re.compile(r"(?P<key>[^=@\s]+)=(?P<value>[^=@\s]+)@(?P<offset>-?\d+|\?)")
_OFFSET = re.compile(r"@(?P<offset>-?\d+|\?|none)")
_COMMITTED = re.compile(r"\+(?P<key>[^=@\s]+)@(?P<offset>-?\d+)")
_WORD = re.compile(r"(?P<f>\w+)(\{(?P<of>[^}]*)\})?")
_ATTRIBUTES: Final = {
    "id": "transactional_id",
    "group": "group",
    "isolation": "isolation",
    "end": "end_asked_ns",
}
_OFFSETS_OF: Final[dict[str, type[EndOffset | StartOffset | FetchOffset]]] = {
    "end_offset": EndOffset,
    "start_offset": StartOffset,
    "fetch_offset": FetchOffset,
}


class NotationFault(ValueError):
    """The error for a line that violates the notation. The message contains the number and the text
    of the line.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class _Invoked:
    f: str
    of: dict[
        str, Any
    ]  # transactional_id, group, isolation, end_asked_ns: only those that are present
    words: tuple[str, ...]
    at_ns: int


def history(text: str) -> History:
    """Parses lines of the notation and returns the history. Its operations are in the order of
    their completions. The operations that never completed are at the end.

    >>> history("p1 send k=a -> ok @0")[0].did
    (Send(key='k', value='a', offset=0),)
    """
    processes: dict[str, int] = {}
    opened: dict[str, _Invoked] = {}
    completed: list[Operation] = []
    never: list[Operation] = []
    for number, raw in enumerate(text.splitlines()):
        line = raw.split("#")[0].strip()
        if not line:
            continue
        try:
            name, left, right = _sides(line)
            process = processes.setdefault(name, len(processes))
            at_ns = number * LINE_NS
            if left == [OPEN]:
                invoked = opened.pop(name)
            else:
                words = tuple(left[1:] if left[-1] != OPEN else left[1:-1])
                f, of = _word(left[0])
                invoked = _Invoked(f=f, of=of, words=words, at_ns=at_ns)
            if right is None:
                if name in opened or left[-1] != OPEN:
                    raise NotationFault("an invocation alone ends in `...`, one at a time")
                opened[name] = invoked
            elif right == ["never"]:
                never.append(_operation(process, invoked, None, "info", ()))
            else:
                outcome, *answered = right
                ended_ns = at_ns + COMPLETION_NS
                completed.append(_operation(process, invoked, ended_ns, outcome, tuple(answered)))
        except (KeyError, IndexError, ValueError) as fault:
            raise NotationFault(f"line {number + 1}: {line!r}: {fault}") from fault
    never += [_operation(processes[name], it, None, "info", ()) for name, it in opened.items()]
    return (*completed, *never)


def _sides(line: str) -> tuple[str, list[str], list[str] | None]:
    left, arrow, right = line.partition("->")
    name, *words = left.split()
    if not words:
        raise NotationFault("the line has neither an operation nor `...`")
    return name, words, right.split() if arrow else None


def _operation(
    process: int,
    invoked: _Invoked,
    completed_ns: int | None,
    outcome: str,
    answered: tuple[str, ...],
) -> Operation:
    if outcome not in get_args(Outcome):
        raise NotationFault(f"an operation ends {', '.join(get_args(Outcome))} or never")
    ended: Outcome = "ok" if outcome == "ok" else "fail" if outcome == "fail" else "info"
    return Operation(
        process=process,
        f=invoked.f,
        outcome=ended,
        invoked_ns=invoked.at_ns,
        completed_ns=completed_ns,
        did=_did(invoked, answered),
        **invoked.of,
    )


def _word(word: str) -> tuple[str, dict[str, Any]]:
    match = _WORD.fullmatch(word)
    if match is None:
        raise NotationFault(f"{word!r} is neither an operation nor operation{{id=..,group=..}}")
    pairs = [pair.partition("=") for pair in (match["of"] or "").split(",") if pair]
    of: dict[str, Any] = {_ATTRIBUTES[name]: cell for name, _, cell in pairs}
    if "end_asked_ns" in of:
        of["end_asked_ns"] = int(of["end_asked_ns"])
    return match["f"], of


def _did(invoked: _Invoked, answered: tuple[str, ...]) -> tuple[MicroOperation, ...]:
    if invoked.f in {"assign", "subscribe"}:
        return tuple(Assigned(key) for key in invoked.words if key != "-")
    matches = [_OFFSET.fullmatch(word) for word in answered]
    offsets = [_offset(match) for match in matches if match]
    polled = [_polled(word) for word, match in zip(answered, matches, strict=True) if not match]
    asked = [word for word in invoked.words if not word.startswith("+")]
    committed = [_committed(word) for word in invoked.words if word.startswith("+")]
    if len(offsets) > len(asked):
        raise NotationFault("the completion has more offsets than the invocation requests")
    read = _OFFSETS_OF.get(invoked.f)
    made: list[MicroOperation] = []
    for position, word in enumerate(asked):
        known = position < len(offsets)
        offset = offsets[position] if known else None
        if read is not None:
            if known and (offset is not None or read is FetchOffset):
                made.append(_read(read, word, offset))
            continue
        sent = _SENT.fullmatch(word)
        if sent is None:
            raise NotationFault(f"{word!r} is not key=value")
        made.append(Send(sent["key"], sent["value"], offset))
    return (*made, *polled, *committed)


def _read(
    read: type[EndOffset | StartOffset | FetchOffset], key: str, offset: int | None
) -> MicroOperation:
    if read is FetchOffset or offset is None:
        return FetchOffset(key, offset)
    return read(key, offset)


def _committed(word: str) -> CommitOffset:
    match = _COMMITTED.fullmatch(word)
    if match is None:
        raise NotationFault(f"{word!r} is not +key@offset")
    return CommitOffset(match["key"], int(match["offset"]))


def _polled(word: str) -> Poll | Rebalanced:
    if word.startswith("~"):
        return Rebalanced(word[1:])
    match = _POLLED.fullmatch(word)
    if match is None:
        raise NotationFault(f"{word!r} is neither @offset nor key=value@offset nor ~key")
    return Poll(match["key"], _offset(match), match["value"])


def _offset(match: re.Match[str]) -> int | None:
    return None if match["offset"] in {"?", "none"} else int(match["offset"])


def show(operation: Operation) -> str:
    """Returns an operation as one line of the notation, without its process and its times.

    >>> show(history("p1 txn k=a -> ok @? k=b@7")[0])
    'txn k=a -> ok @? k=b@7'
    """
    asked: list[str] = []
    answered: list[str] = []
    polled: list[str] = []
    for micro in operation.did:
        match micro:
            case Send(key, value, offset):
                asked.append(f"{key}={value}")
                answered.append(_shown(offset))
            case EndOffset(key, offset) | StartOffset(key, offset):
                asked.append(key)
                answered.append(_shown(offset))
            case FetchOffset(key, offset):
                asked.append(key)
                answered.append("@none" if offset is None else _shown(offset))
            case CommitOffset(key, offset):
                asked.append(f"+{key}@{offset}")
            case Assigned(key):
                asked.append(key)
            case Poll(key, offset, value):
                polled.append(f"{key}={value}{_shown(offset)}")
            case Rebalanced(key):
                polled.append(f"~{key}")
    if operation.f in {"assign", "subscribe"} and not asked:
        asked.append("-")
    ended = "never" if operation.completed_ns is None else operation.outcome
    right = [] if ended == "never" or (set(answered) == {"@?"} and ended != "ok") else answered
    return " ".join([_named(operation), *asked, "->", ended, *right, *polled])


def _named(operation: Operation) -> str:
    known = {
        short: cell
        for short, name in _ATTRIBUTES.items()
        if (cell := getattr(operation, name)) is not None
    }
    of = ",".join(f"{short}={cell}" for short, cell in known.items())
    return f"{operation.f}{{{of}}}" if of else operation.f


def _shown(offset: int | None) -> str:
    return "@?" if offset is None else f"@{offset}"
