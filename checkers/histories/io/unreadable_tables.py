"""Texts for error messages about an unreadable Delta or Iceberg table: what the user can do
next.
"""

from __future__ import annotations

from typing import Final

COPY: Final = "copy the whole table again"
REWRITE: Final = "write its current rows as Parquet files and pass their folder"
