"""Quotas of an entity are changed together or not at all, and other entities are not affected."""

from __future__ import annotations

import pytest

from reference_impl.controller.client_quotas import alter_quotas
from reference_impl.controller.controller import Controller
from reference_impl.node.settings import KAFKA_SETTINGS
from reference_impl.node.step import RequestReceived
from reference_impl.protocol.client_metrics import AlterClientMetrics
from reference_impl.protocol.client_quotas import (
    AlteredQuotas,
    AlterQuotas,
    QuotaAlteration,
    Quotas,
    entity_of,
)
from reference_impl.protocol.messages import FIRST_CLIENT, ErrorCode

APP = entity_of({"client-id": "app", "user": None})
ANN = entity_of({"user": "ann"})
HOST = entity_of({"ip": "10.0.0.1"})
OLD: Quotas = ((APP, (("consumer_byte_rate", 5.0), ("producer_byte_rate", 9.0))),)


def change(entity: tuple[tuple[str, str | None], ...], **changes: float | None) -> QuotaAlteration:
    return QuotaAlteration(entity=entity, changes=tuple(changes.items()))


def test_quotas_are_set_and_removed_and_stay_sorted() -> None:
    request = AlterQuotas(
        alterations=(
            change(HOST, connection_creation_rate=3.0),
            change(APP, producer_byte_rate=None, consumer_byte_rate=7.0, request_percentage=None),
        )
    )
    after, answer = alter_quotas(OLD, request)
    assert after == (
        (APP, (("consumer_byte_rate", 7.0),)),
        (HOST, (("connection_creation_rate", 3.0),)),
    )
    assert answer == AlteredQuotas(results=((HOST, ErrorCode.NONE, ""), (APP, ErrorCode.NONE, "")))
    last = AlterQuotas(alterations=(change(APP, consumer_byte_rate=None),))
    assert alter_quotas(after, last)[0] == after[1:]


def test_a_request_that_only_validates_changes_nothing() -> None:
    request = AlterQuotas(alterations=(change(ANN, producer_byte_rate=1.0),), validate_only=True)
    assert alter_quotas(OLD, request) == (OLD, AlteredQuotas(results=((ANN, ErrorCode.NONE, ""),)))


@pytest.mark.parametrize(
    ("alteration", "why"),
    [
        (change((), producer_byte_rate=1.0), "Invalid empty client quota entity"),
        (change((("group", "g"),)), "Unhandled client quota entity type: group"),
        (change((("user", ""),)), "Empty user not supported"),
        (change((("ip", "10.0.0.1"), ("user", "ann"))), "IP entity should"),
        (change((("ip", "a host"),)), "a host is not a valid IP"),
        (change(ANN, connection_creation_rate=1.0), "Invalid configuration key connection_cr"),
        (change(HOST, producer_byte_rate=1.0), "Invalid configuration key producer_byte_rate"),
        (change(ANN, producer_byte_rate=0.0), "producer_byte_rate must be greater than 0"),
        (change(HOST, connection_creation_rate=2.0**31), "too large for a INT"),
        (change(ANN, consumer_byte_rate=2.0**64), "too large for a LONG"),
        (change(ANN, consumer_byte_rate=1.5), "cannot be a fractional value"),
        (
            QuotaAlteration(entity=ANN, changes=(("producer_byte_rate", 1.0),) * 2),
            "Ignoring duplicate entity",
        ),
    ],
)
def test_an_entity_with_a_wrong_change_keeps_its_quotas_and_others_are_changed(
    alteration: QuotaAlteration, why: str
) -> None:
    other = change(entity_of({"client-id": None}), request_percentage=0.5)
    after, answer = alter_quotas(OLD, AlterQuotas(alterations=(alteration, other)))
    assert [entity for entity, _ in after] == [other.entity, APP]
    (_, error, text), others = answer.results
    assert (error, others[1]) == (ErrorCode.INVALID_REQUEST, ErrorCode.NONE)
    assert why in text


def test_the_same_entity_twice_is_refused() -> None:
    twice = (change(ANN, producer_byte_rate=1.0), change(ANN, producer_byte_rate=2.0))
    after, answer = alter_quotas((), AlterQuotas(alterations=twice))
    assert after == ((ANN, (("producer_byte_rate", 1.0),)),)
    assert [error for _, error, _ in answer.results] == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize(
    "alteration",
    [
        change(HOST, connection_creation_rate=2.0**31 - 1),
        change(entity_of({"ip": None}), connection_creation_rate=1.0),
        change(ANN, producer_byte_rate=1e-6),
        change(ANN, request_percentage=0.5, controller_mutation_rate=2.0**70),
    ],
)
def test_a_quota_at_its_limit_is_accepted(alteration: QuotaAlteration) -> None:
    after, _ = alter_quotas((), AlterQuotas(alterations=(alteration,)))
    assert after == ((alteration.entity, tuple(sorted(alteration.changes))),)


@pytest.mark.parametrize(
    "request_",
    [
        AlterQuotas(alterations=(change(ANN, producer_byte_rate=1.0),)),
        AlterClientMetrics(name="all", changes=(("metrics", "*"),)),
    ],
)
def test_a_change_is_a_new_version_of_the_metadata_and_a_repetition_is_none(
    request_: AlterQuotas | AlterClientMetrics,
) -> None:
    controller, _ = Controller.start(0, broker_settings=KAFKA_SETTINGS)
    after, _ = controller.step(0, RequestReceived(FIRST_CLIENT, 1, request_))
    assert after.version == controller.version + 1
    assert (after.quotas, after.client_metrics) != (controller.quotas, controller.client_metrics)
    again, _ = after.step(0, RequestReceived(FIRST_CLIENT, 2, request_))
    assert again.version == after.version
