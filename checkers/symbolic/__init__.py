"""Proves the claims of a spec with Z3, without bounds on the numbers of replicas, records and so
on.

A proof by induction has a condition for each action and each claim: the action preserves the claim.
The proof of a claim may assume other claims. If a condition fails, `prove` drops its claim. The
proofs that assumed the dropped claim are then repeated without it.
"""

from checkers.symbolic.condition import Condition, Progress
from checkers.symbolic.counterexample import (
    CounterexampleToInduction,
    EnginesDisagree,
    NoneFound,
    counterexample_to_induction,
)
from checkers.symbolic.proof import Proof, Summary, prove
from checkers.symbolic.proof_cache import ProofCache
from checkers.symbolic.sorts import Declined
from checkers.symbolic.vacuity import Vacuity, vacuity_of

__all__ = [
    "Condition",
    "CounterexampleToInduction",
    "Declined",
    "EnginesDisagree",
    "NoneFound",
    "Progress",
    "Proof",
    "ProofCache",
    "Summary",
    "Vacuity",
    "counterexample_to_induction",
    "prove",
    "vacuity_of",
]
