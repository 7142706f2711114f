"""Isolation anomalies: cycles of operations that depend on each other, and intermediate reads."""

from __future__ import annotations

from properties.anomalies.anomaly import Anomaly
from properties.anomalies.cycles import forms, intermediate_read
from properties.anomalies.declarations import Declarations


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    return *forms.anomalies(declared), intermediate_read.anomaly(declared)
