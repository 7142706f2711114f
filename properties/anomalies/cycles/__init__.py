"""Isolation: operations that must come before each other, and transactions seen in part."""

from __future__ import annotations

from properties.anomalies.anomaly import Anomaly
from properties.anomalies.cycles import forms, intermediate_read
from properties.anomalies.declarations import Declarations


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    """The family, in the order of the catalogue."""
    return *forms.anomalies(declared), intermediate_read.anomaly(declared)
