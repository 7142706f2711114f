"""Who may connect: the security settings, the users, and the SASL mechanisms.

    settings         the security protocol and its settings, checked
    users            the users in a file or in options of the command line
    credentials      what the brokers know of each user
    plain, scram     one exchange of a SASL mechanism; they do not use sockets

This applies to clients, not to the messages between nodes.
"""
