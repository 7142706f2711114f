"""Proposes lemmas for a proof that fails: candidates from the spec's own words, filtered twice.

Candidates are clauses over the atoms of a spec. Exploration at a finite scope drops the false ones,
Houdini those that are not inductive. The few that a claim needs are proved without bounds.
"""
