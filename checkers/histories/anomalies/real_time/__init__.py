"""The query plans for linearizability: no operation returns a lower offset than a client observed
before the operation began.

An *observation* is a log end that a client observed. A *check* is an offset that an operation
returned: the offset of a send, or an end offset. An observation contradicts a check of the same key
(topic partition) if two conditions hold:

- The log end is above the offset of the check.
- The log end was observed before the operation of the check was invoked.
"""
