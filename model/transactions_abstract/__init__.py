"""A small spec of transactions. Its claims are proved for any number of producers, partitions and
transactions.
"""

from model.transactions_abstract import bugs, topic_ids, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, topic_ids, bugs)

__all__ = ["VARIANTS"]
