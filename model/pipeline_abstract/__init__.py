"""A small spec of consume-process-produce. Its claims are proved for any number of inputs,
partitions and instances.
"""

from model.pipeline_abstract import bugs, versions
from model.variants import variants_in

VARIANTS = variants_in(versions, bugs)

__all__ = ["VARIANTS"]
