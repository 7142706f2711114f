"""Linearizability: no operation returns a lower offset than was observed before it began.

An *observation* is a log end that a client observed. A *check* is an offset that an operation
returned: the offset of a send, or an end offset. An observation contradicts a check of the same key
if its log end is higher, and it was made before the operation of the check was invoked.
"""
