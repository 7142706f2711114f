"""A spec of the reassignments and the ELR of one partition, which is small enough to prove its
claims for any number of brokers.
"""

from model.reassignment_abstract import bugs, changed_min_isr, min_isr_bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, changed_min_isr, bugs, min_isr_bugs)

__all__ = ["VARIANTS"]
