"""The claims about transactions: `agreement` is about servers, `promises` about clients and
readers.
"""

from model.transactions.claims.promises import TransactionsClaims

__all__ = ["TransactionsClaims"]
