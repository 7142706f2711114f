"""Arrow without pandas: not imported by an analysis, and there for who needs it."""

from __future__ import annotations

import subprocess
import sys

NOT_IMPORTED = """
import sys
import checkers.histories.analysis
import pyarrow as pa
assert pa.array([1]).to_pylist() == [1]
assert not {"pandas", "scipy"} & {*sys.modules}, "imported before anything asked for it"
"""
THERE = """
import checkers.histories.columnar.arrow
import pyarrow as pa
assert list(pa.table({"a": [1]}).to_pandas()["a"]) == [1]
import pandas as pd
assert pa.array(pd.Series([1, 2])).to_pylist() == [1, 2]
"""


def test_an_analysis_imports_neither_pandas_nor_scipy() -> None:
    subprocess.run([sys.executable, "-c", NOT_IMPORTED], check=True)


def test_pandas_is_found_by_who_asks_for_it() -> None:
    subprocess.run([sys.executable, "-c", THERE], check=True)
