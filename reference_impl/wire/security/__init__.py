"""Decides which clients may connect to a broker.

Each line names a module of this package and its content:

    settings         the security protocol and its settings, checked
    users            the users in a file or in options of the command line
    credentials      the data with which the brokers check the password of each user
    plain, scram     one exchange of a SASL mechanism; they do not use sockets

The security settings apply to connections of clients, not to the messages between nodes.
"""
