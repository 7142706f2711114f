"""The catalogue of claims: every guarantee and every warning of Kafka's documents, by family.

A claim with a condition is checked twice: under the condition it must hold, and without it a
counterexample must be found. The deciders of a claim are the suites, models and anomalies that
check it. A claim without a decider has no check yet.

Source: docs/sources.md D0, D1, D2, D3.
"""

from __future__ import annotations

from typing import Final

from properties.claims.catalogue.delivery import DELIVERY
from properties.claims.catalogue.groups import GROUPS
from properties.claims.catalogue.log import LOG
from properties.claims.catalogue.replication import REPLICATION
from properties.claims.catalogue.transactions import TRANSACTIONS

CLAIMS: Final = DELIVERY + LOG + REPLICATION + TRANSACTIONS + GROUPS
BY_ID: Final = {claim.id: claim for claim in CLAIMS}
