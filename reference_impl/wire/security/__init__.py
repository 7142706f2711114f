"""Who may connect: the security settings, the users, and the SASL mechanisms.

    settings         the security protocol and its settings, checked
    users            the users of a file or of options
    credentials      what the brokers know of each user
    plain, scram     one run of a SASL mechanism, without input or output

Brokers exchange their messages in memory, so there is no security between them.
"""
