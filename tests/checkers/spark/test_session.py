"""A local session starts where the machine's own name has no address, as in some containers."""

from __future__ import annotations

import subprocess
import sys

import pytest

RENAMED = ("unshare", "--uts", "sh", "-c", 'hostname no-such-host && exec "$@"', "sh")
COUNTS = """
from checkers.spark.session import session
with session("local[1]") as spark:
    print(spark.range(3).count(), "rows")
"""


def test_a_machine_whose_name_has_no_address_starts_a_session() -> None:
    if subprocess.run([*RENAMED, "true"], check=False, capture_output=True).returncode:
        pytest.skip("only root may rename a machine")
    done = subprocess.run(
        [*RENAMED, sys.executable, "-c", COUNTS], capture_output=True, text=True, check=False
    )
    assert done.stdout == "3 rows\n", done.stderr
