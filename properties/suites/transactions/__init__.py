"""The property suite `transactions`: a set of claims, and generated runs that can break them.

In its runs, transactional producers are replaced, die, or send requests that arrive late.
"""
