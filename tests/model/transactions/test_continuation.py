"""A client that continues after an error gets its new epoch, even if the first response with this
epoch was lost (KIP-360).
"""

from __future__ import annotations

from checkers.explicit.search import explore
from model.transactions.continuation import Continuation
from model.transactions.state import QUIET


def test_every_claim_holds_while_responses_are_lost_and_a_coordinator_fails() -> None:
    found = explore(Continuation(**{**QUIET, "transactions": 1, "coordinator_failures": 1}))
    assert (found.violated, found.exhausted, found.distinct) == ((), True, 842)
    assert found.taken["repeat_response"]
