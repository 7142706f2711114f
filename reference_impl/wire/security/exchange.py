"""One run of a SASL mechanism on the broker's side.

exchange.answer(token of the client) -> challenge; exchange.user is set at the end
"""

from __future__ import annotations

from typing import Protocol


class AuthenticationFailed(Exception):
    """The text is for the broker's log; the client gets `shown`, or a general text."""

    def __init__(self, why: str, shown: str | None = None) -> None:
        super().__init__(why)
        # The general text is the same for every mistake: else a client could find out which users
        # exist.
        self.shown = shown


class BrokenExchange(ValueError):
    """Kafka closes the connection after such a message, without a response."""


class Exchange(Protocol):
    @property
    def user(self) -> str | None:
        """None until the exchange has succeeded."""
        ...

    def answer(self, token: bytes) -> bytes:
        """The challenge, or no bytes if none is needed.

        Raises AuthenticationFailed or BrokenExchange; the exchange is then over.
        """
        ...
