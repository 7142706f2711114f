"""One run of a SASL mechanism on the broker's side.

The caller passes each token of the client to `Exchange.answer`, which returns the next challenge.
`Exchange.user` is set when the exchange has succeeded.
"""

from __future__ import annotations

from typing import Protocol


class AuthenticationFailed(Exception):
    """Raised if the client fails to authenticate itself.

    The text of the exception is for the broker's log. The client receives `shown`, or a general
    text if `shown` is None.
    """

    def __init__(self, why: str, shown: str | None = None) -> None:
        super().__init__(why)
        # The general text is the same for every mistake: else a client could find out which users
        # exist.
        self.shown = shown


class BrokenExchange(ValueError):
    """Raised for a message after which Kafka closes the connection without a response."""


class Exchange(Protocol):
    @property
    def user(self) -> str | None:
        """The name of the authenticated user, or None until the exchange has succeeded."""
        ...

    def answer(self, token: bytes) -> bytes:
        """Returns the next challenge, or empty bytes if the client needs none.

        If the token is wrong, raises AuthenticationFailed or BrokenExchange. After either
        exception, the exchange cannot continue.
        """
        ...
