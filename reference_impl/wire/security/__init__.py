"""How clients connect: TLS on the listeners, and SASL before the first request.

    settings         the security protocol and its settings, checked
    users            the users of a file or of options
    credentials      what the brokers know of each user
    plain, scram     one run of a SASL mechanism, without input or output
    authentication   which requests a connection may send until its client is authenticated
    tls              encrypts a connection
    gate             guards each connection of a cluster by these means, within a time limit
    requests         the handlers of the requests for SASL and for SCRAM credentials

Brokers exchange their messages in memory, so there is no security between them.
"""
