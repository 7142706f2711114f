"""Splits TLA+ into tokens, and reads them one after the other.

The signs of a list of conjuncts or disjuncts are in one column. The list ends at the first token
that is not to the right of this column. So a reader remembers the column of each list that has not
ended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"\d+|\w+'?|/\\|\\/|\\[A-Za-z]+|\\|=>|<=|->|\|->|\.\.|<<|>>|\[\]|<>|~>|[-+=#<~()\[\]{},:!@.|]"
)


@dataclass(frozen=True)
class Token:
    text: str
    line: int
    column: int


def tokens_of(text: str) -> list[Token]:
    found: list[Token] = []
    for number, line in enumerate(text.split("\n")):
        at = 0
        for match in TOKEN.finditer(line):
            assert not line[at : match.start()].strip(), line
            found.append(Token(match[0], number, match.start()))
            at = match.end()
        assert not line[at:].strip(), line
    return found


@dataclass
class Reader:
    """Reads tokens in their order. It knows the lists that have begun and not ended."""

    tokens: Sequence[Token]
    at: int = 0
    limits: list[int] = field(default_factory=lambda: [-1])  # columns of the open lists

    def ahead(self) -> str:
        """Returns the next token; empty if the text, or the list that is being read, has ended."""
        if self.at < len(self.tokens) and self.tokens[self.at].column > self.limits[-1]:
            return self.tokens[self.at].text
        return ""

    def take(self, *expected: str) -> str:
        token = self.ahead()
        assert token, (expected, self.tokens[self.at - 1 : self.at + 1])
        assert not expected or token in expected, (expected, self.tokens[self.at])
        self.at += 1
        return token

    def takes(self, token: str) -> bool:
        if self.ahead() != token:
            return False
        self.at += 1
        return True
