"""An analysis does not import pandas, but PyArrow can still import pandas when needed."""

from __future__ import annotations

import subprocess
import sys

NOT_IMPORTED = """
import sys
import checkers.histories.analysis
import pyarrow as pa
assert pa.array([1]).to_pylist() == [1]
assert not {"pandas", "scipy"} & {*sys.modules}, "imported without need"
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


def test_pyarrow_finds_pandas_when_it_is_needed() -> None:
    subprocess.run([sys.executable, "-c", THERE], check=True)
