"""The control port of a cluster, through which tests inject faults and create topics over HTTP.
The port listens only on the loopback address.
"""
