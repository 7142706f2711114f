"""A small spec of reads at read_committed. Its claims are proved for any number of transactions and
records.
"""

from model.read_committed_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
