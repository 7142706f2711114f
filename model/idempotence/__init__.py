"""The idempotent producer: a client retries its batches, and partitions append each batch once."""

from model.idempotence import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
