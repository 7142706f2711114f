"""The interface of one run of a SASL mechanism on the broker's side.

exchange.answer(token of the client) -> challenge; exchange.user is set at the end
"""

from __future__ import annotations

from typing import Protocol


class AuthenticationFailed(Exception):
    """The error if the authentication of a client fails; its text is for the broker's log.

    The client gets the text `shown`, or a general text if `shown` is None.
    """

    def __init__(self, why: str, shown: str | None = None) -> None:
        super().__init__(why)
        # The general text is the same for every mistake: else a client could find out which users
        # exist.
        self.shown = shown


class BrokenExchange(ValueError):
    """The error for a message after which Kafka closes the connection without a response."""


class Exchange(Protocol):
    """One run of a SASL mechanism."""

    @property
    def user(self) -> str | None:
        """The authenticated user; None until the exchange has succeeded."""
        ...

    def answer(self, token: bytes) -> bytes:
        """Returns the server's challenge to the client's token, or no bytes if none is needed.

        Raises AuthenticationFailed or BrokenExchange; the exchange is then over.
        """
        ...
