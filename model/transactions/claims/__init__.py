"""The claims about transactions: `agreement` is between servers, `promises` are to clients."""

from model.transactions.claims.promises import TransactionsClaims

__all__ = ["TransactionsClaims"]
