"""The actions of elections, by role: brokers, and the controller."""

from model.election.actions.controller import Controller

__all__ = ["Controller"]
