"""The catalogue of claims: every guarantee and every warning of Kafka's documents, by family.

If a claim has a condition, it is checked twice. Under the condition, the claim must hold. Without
the condition, a counterexample must be found. The deciders of a claim are the suites, models and
anomalies that check it. If a claim has no decider, nothing checks it yet.

Source: docs/sources.md DOC0, DOC1, DOC2, DOC3.
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
