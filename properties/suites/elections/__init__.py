"""The property suite `elections`: a set of claims, and generated runs that can break them.

In its runs, brokers crash and return, and the claims are about the ISR, the leaders and committed
records.
"""
