"""How clients connect: TLS on the listeners, and SASL before the first request.

tls              encrypts a connection
authentication   which requests a connection may send until its client is authenticated
gate             applies TLS and SASL to each new connection, within a time limit
"""
