"""What a user can do if a Delta or Iceberg table cannot be read: text for error messages."""

from __future__ import annotations

from typing import Final

COPY: Final = "copy the whole table again"
REWRITE: Final = "write its current rows as Parquet files and pass their folder"
