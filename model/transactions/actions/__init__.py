"""The actions of transactions, by role: partition leaders, the coordinator, clients."""

from model.transactions.actions.clients import Clients

__all__ = ["Clients"]
