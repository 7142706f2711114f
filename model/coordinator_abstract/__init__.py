"""A spec of transactions with a coordinator that may fail. Its claims are proved for any number of
producers, partitions, transactions and coordinators.
"""

from model.coordinator_abstract import (
    bugs,
    continuation,
    two_phase_bugs,
    two_phase_claims,
    verification_bugs,
    verification_claims,
    versions,
)
from model.variants import variants_in

VARIANTS = variants_in(
    versions,
    bugs,
    continuation,
    verification_claims,
    verification_bugs,
    two_phase_claims,
    two_phase_bugs,
)

__all__ = ["VARIANTS"]
