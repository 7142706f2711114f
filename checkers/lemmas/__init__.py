"""Proposes lemmas for a proof by induction that fails.

The candidates are clauses (disjunctions) over the formulas that the spec's own guards, updates and
claims use. Two filters drop candidates. Exploration at a finite scope, such as 3 replicas, drops
the candidates that are false in an explored state. The algorithm Houdini drops the candidates that
are not inductive. The few candidates that a claim needs are then proved without bounds.
"""
