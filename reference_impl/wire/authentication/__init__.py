"""How clients connect: TLS on the listeners, and SASL before the first request.

tls              encrypts a connection
authentication   which requests a connection may send until its client is authenticated
gate             guards each connection of a cluster by these means, within a time limit
"""
