"""`python -m tools.kafka_log_dirs DIR` writes all log directories of the tests into the folder DIR.

The program uses Maven once, and takes some minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.kafka_log_dirs import compacted_and_unclean, one_life

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    one_life.make(folder)
    compacted_and_unclean.make(folder)
