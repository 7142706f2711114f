"""Texts for error messages: the next move of a user whose Delta or Iceberg table is unreadable."""

from __future__ import annotations

from typing import Final

COPY: Final = "copy the whole table again"
REWRITE: Final = "write its current rows as Parquet files and pass their folder"
