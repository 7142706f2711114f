"""Arrow's compute functions: made when the library loads, so no checker knows their types."""

from __future__ import annotations

from typing import Any, Final

import pyarrow.compute

compute: Final[Any] = pyarrow.compute
