"""Matches topic names with regular expressions, in time linear in the length of the name, like RE2.

    TopicPattern.of("orders-.*").matches("orders-eu")   ->  True

A pattern is compiled to a nondeterministic automaton. The matcher follows all active states of the
automaton at the same time, so no pattern of a client can stall the broker. Kafka uses the library
RE2/J.

Source: KIP-848; Apache Kafka, GroupMetadataManager.
Simplified: RE2/J also accepts classes of Unicode (\\p{Greek}), \\Q...\\E, \\b, flags, and
expressions of more than 2,000 states.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

ALPHABET: Final = frozenset(string.ascii_letters + string.digits + "._-")  # of topic names
MOST_STATES: Final = 2_000
MOST_REPEATS: Final = 1_000
DEEPEST: Final = 100
_CLASSES: Final = {
    "d": frozenset(string.digits),
    "w": frozenset(string.ascii_letters + string.digits + "_"),
    "s": frozenset(" \t\n\r\f"),
}
_POSIX: Final = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "digit": frozenset(string.digits),
    "lower": frozenset(string.ascii_lowercase),
    "upper": frozenset(string.ascii_uppercase),
    "punct": frozenset(string.punctuation),
    "word": frozenset(string.ascii_letters + string.digits + "_"),
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_AT_START: Final = "^"
_AT_END: Final = "$"
_ANCHORS: Final = {"^": _AT_START, "A": _AT_START, "$": _AT_END, "z": _AT_END}


class BadPattern(ValueError):
    """Raised if a text is not a regular expression of RE2, or if the expression is not
    supported.
    """


@dataclass(slots=True)
class _State:
    """A state of the automaton.

    A character in `accepts` leads to the state `after`. The states in `free` are reached without a
    character. If `anchor` is set, the states in `free` are reached only at the start or the end of
    the name.
    """

    accepts: frozenset[str] = frozenset()
    after: int = -1
    free: tuple[int, ...] = ()
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class TopicPattern:
    _states: tuple[_State, ...]
    _start: int
    _accepting: int

    @staticmethod
    @lru_cache(maxsize=256)
    def of(text: str) -> TopicPattern:
        """Returns the compiled pattern. Raises BadPattern with the reason if the expression is
        invalid.
        """
        return _Compiler(text).compiled()

    def matches(self, topic: str) -> bool:
        """Returns True if the whole name of the topic matches the pattern."""
        here = self._reached({self._start}, at_start=True, at_end=not topic)
        for index, character in enumerate(topic):
            states = (self._states[number] for number in here)
            moved = {state.after for state in states if character in state.accepts}
            here = self._reached(moved, at_start=False, at_end=index + 1 == len(topic))
        return self._accepting in here

    def _reached(self, numbers: set[int], *, at_start: bool, at_end: bool) -> set[int]:
        found, waiting = set(numbers), [*numbers]
        while waiting:
            state = self._states[waiting.pop()]
            if (state.anchor == _AT_START and not at_start) or (
                state.anchor == _AT_END and not at_end
            ):
                continue
            more = [number for number in state.free if number not in found]
            found.update(more)
            waiting += more
        return found


def is_pattern(text: str) -> bool:
    try:
        TopicPattern.of(text)
    except BadPattern:
        return False
    return True


@lru_cache(maxsize=256)
def matching(text: str, topics: frozenset[str]) -> tuple[str, ...]:
    """Returns the topics whose whole name matches the pattern `text`, in sorted order. Returns ()
    if `text` is empty.
    """
    if not text:
        return ()
    pattern = TopicPattern.of(text)
    return tuple(sorted(topic for topic in topics if pattern.matches(topic)))


_Fragment = tuple[int, int]  # its first and its last state
_Node = Callable[["_Compiler"], _Fragment]  # builds the states of a part; called for each repeat


@dataclass(slots=True)
class _Compiler:
    """Reads a regular expression from left to right, and builds its automaton."""

    text: str
    at: int = 0
    depth: int = 0
    states: list[_State] = field(default_factory=list[_State])

    def compiled(self) -> TopicPattern:
        node = self._alternatives()
        if self.at < len(self.text):
            raise BadPattern("unexpected )")
        start, end = node(self)
        return TopicPattern(tuple(self.states), start, end)

    # ------------------------------------------------------------ states

    def new(
        self,
        accepts: frozenset[str] = frozenset(),
        after: int = -1,
        free: tuple[int, ...] = (),
        anchor: str = "",
    ) -> int:
        if len(self.states) >= MOST_STATES:
            raise BadPattern("expression too large")
        self.states.append(_State(accepts, after, free, anchor))
        return len(self.states) - 1

    def one_of(self, accepts: frozenset[str]) -> _Fragment:
        end = self.new()
        return self.new(accepts=accepts, after=end), end

    def joined(self, nodes: list[_Node]) -> _Fragment:
        start = end = self.new()
        for node in nodes:
            first, last = node(self)
            self.states[end].free += (first,)
            end = last
        return start, end

    def either(self, nodes: list[_Node]) -> _Fragment:
        fragments = [node(self) for node in nodes]
        end = self.new()
        for _, last in fragments:
            self.states[last].free += (end,)
        return self.new(free=tuple(first for first, _ in fragments)), end

    def repeated(self, node: _Node, least: int, most: int | None) -> _Fragment:
        start = end = self.new()
        for _ in range(least):
            first, last = node(self)
            self.states[end].free += (first,)
            end = last
        if most is None:
            first, last = node(self)
            again = self.new(free=(first,))
            self.states[end].free += (again,)
            self.states[last].free += (again,)
            return start, again
        after = self.new()
        for _ in range(most - least):
            first, last = node(self)
            self.states[end].free += (first, after)
            end = last
        self.states[end].free += (after,)
        return start, after

    # ------------------------------------------------------------ syntax

    def _alternatives(self) -> _Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise BadPattern("expression nests too deeply")
        branches = [self._sequence()]
        while self._skips("|"):
            branches.append(self._sequence())
        self.depth -= 1
        return branches[0] if len(branches) == 1 else lambda it: it.either(branches)

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self._repeats(self._atom()))
        return lambda it: it.joined(parts)

    def _repeats(self, node: _Node) -> _Node:
        while self.at < len(self.text):
            bounds = self._bounds()
            if bounds is None:
                return node
            self._skips("?")  # lazy repeats match the same names
            node = _repetition(node, *bounds)
        return node

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._skips(sign):
                return bounds
        close = self.text.find("}", self.at)
        if self.text[self.at] != "{" or close < 0:
            return None
        low, comma, high = self.text[self.at + 1 : close].partition(",")
        if not low.isdecimal() or not (high.isdecimal() or not high):
            return None  # RE2 reads such a brace as a character
        self.at = close + 1
        least, most = int(low), int(high) if high else None if comma else int(low)
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            raise BadPattern("invalid repeat count")
        return least, most

    def _atom(self) -> _Node:
        character = self._next()
        if character in "*+?":
            raise BadPattern(f"missing argument to repetition operator: {character}")
        if character == "(":
            return self._group()
        if character == "[":
            found = self._class()
            return lambda it: it.one_of(found)
        if character == ".":
            return lambda it: it.one_of(ALPHABET)
        if character in "^$":
            return _anchored(_ANCHORS[character])
        if character == "\\":
            if self.text[self.at : self.at + 1] in ("A", "z"):
                return _anchored(_ANCHORS[self._next()])
            escaped = self._escaped()
            return lambda it: it.one_of(escaped)
        return lambda it: it.one_of(frozenset(character))

    def _group(self) -> _Node:
        if self._skips("?"):
            if self._skips("P<") or self._skips("<"):
                name, end, _ = self.text[self.at :].partition(">")
                if not end or not name.isidentifier():
                    raise BadPattern("invalid named capture")
                self.at += len(name) + 1
            elif not self._skips(":"):
                raise BadPattern("invalid or unsupported Perl syntax: (?")
        node = self._alternatives()
        if not self._skips(")"):
            raise BadPattern("missing closing )")
        return node

    def _class(self) -> frozenset[str]:
        is_negated = self._skips("^")
        found = set[str]()
        is_first = True
        while is_first or not self._skips("]"):
            if self.at >= len(self.text):
                raise BadPattern("missing closing ]")
            is_first = False
            low = self._class_member()
            is_range = self.text[self.at : self.at + 1] == "-"
            if len(low) == 1 and is_range and self.text[self.at + 1 : self.at + 2] not in ("", "]"):
                self.at += 1
                high = self._class_member()
                if len(high) != 1 or max(high) < max(low):
                    raise BadPattern("invalid character class range")
                found |= {chr(code) for code in range(ord(max(low)), ord(max(high)) + 1)} & ALPHABET
            else:
                found |= low
        return ALPHABET - found if is_negated else frozenset(found)

    def _class_member(self) -> frozenset[str]:
        if self._skips("[:"):
            name, end, _ = self.text[self.at :].partition(":]")
            if not end or name not in _POSIX:
                raise BadPattern("invalid character class range")
            self.at += len(name) + 2
            return _POSIX[name]
        character = self._next()
        return self._escaped() if character == "\\" else frozenset(character)

    def _escaped(self) -> frozenset[str]:
        character = self._next()
        if character.lower() in _CLASSES:
            found = _CLASSES[character.lower()]
            return found if character.islower() else ALPHABET - found
        if character in _CONTROLS:
            return frozenset(_CONTROLS[character])
        if character.isalnum():
            raise BadPattern(f"invalid or unsupported escape sequence: \\{character}")
        return frozenset(character)

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise BadPattern("unexpected end of the expression")
        self.at += 1
        return self.text[self.at - 1]

    def _skips(self, text: str) -> bool:
        found = self.text.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found


def _anchored(anchor: str) -> _Node:
    def build(it: _Compiler) -> _Fragment:
        end = it.new()
        return it.new(free=(end,), anchor=anchor), end

    return build


def _repetition(node: _Node, least: int, most: int | None) -> _Node:
    return lambda it: it.repeated(node, least, most)
