"""The claims about transactions. The module `agreement` has claims about servers, and the module
`promises` has claims about clients and readers.
"""

from model.transactions.claims.promises import TransactionsClaims

__all__ = ["TransactionsClaims"]
