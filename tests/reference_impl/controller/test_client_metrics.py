"""A subscription to metrics of clients exists while it has a setting; its settings are valid."""

from __future__ import annotations

import pytest

from reference_impl.controller.client_metrics import alter_client_metrics
from reference_impl.protocol.client_metrics import AlterClientMetrics, AlteredClientMetrics
from reference_impl.protocol.messages import ErrorCode

OLD = (("old", (("interval.ms", "5000"), ("metrics", "*"))),)
CONFIG, REQUEST = ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST


def test_settings_are_changed_one_by_one_until_none_is_left() -> None:
    changes = (("match", "client_id=app.*"), ("interval.ms", None))
    after, answer = alter_client_metrics(OLD, AlterClientMetrics(name="old", changes=changes))
    assert answer == AlteredClientMetrics()
    assert after == (("old", (("match", "client_id=app.*"), ("metrics", "*"))),)
    removed = (("match", None), ("metrics", None), ("never-set", None))
    after, _ = alter_client_metrics(after, AlterClientMetrics(name="old", changes=removed))
    assert after == ()


def test_subscriptions_are_sorted_and_one_may_be_replaced_as_a_whole() -> None:
    change = (("metrics", "a, b"),)
    after, _ = alter_client_metrics(OLD, AlterClientMetrics(name="new", changes=change))
    assert [name for name, _ in after] == ["new", "old"]
    whole = AlterClientMetrics(name="old", changes=change, replaces_all=True)
    after, _ = alter_client_metrics(OLD, whole)
    assert after == (("old", change),)


def test_a_request_that_only_validates_changes_nothing() -> None:
    request = AlterClientMetrics(name="new", changes=(("metrics", "*"),), validate_only=True)
    assert alter_client_metrics(OLD, request) == (OLD, AlteredClientMetrics())


@pytest.mark.parametrize(
    ("name", "key", "value", "error", "why"),
    [
        ("", "metrics", "*", REQUEST, "name can't be empty"),
        ("s", "push.ms", "1", REQUEST, "Unknown client metrics configuration: push.ms"),
        ("s", "interval.ms", "soon", CONFIG, "Not a number of type INT"),
        ("s", "interval.ms", "2147483648", CONFIG, "Not a number of type INT"),
        ("s", "interval.ms", "99", REQUEST, "between 100 and 3600000"),
        ("s", "interval.ms", "3600001", REQUEST, "between 100 and 3600000"),
        ("s", "metrics", "a,,b", CONFIG, "must not be empty"),
        ("s", "metrics", "a" * 32_768, CONFIG, "exceeds the maximum value size"),
        ("s", "match", "client_id", CONFIG, "Illegal client matching pattern: client_id"),
        ("s", "match", "client_id=", CONFIG, "Illegal"),
        ("s", "match", "client_id=a=b", CONFIG, "Illegal"),
        ("s", "match", "rack=a", CONFIG, "Illegal"),
        ("s", "match", "client_id=(", CONFIG, "Illegal"),
    ],
)
def test_a_wrong_setting_is_refused(
    name: str, key: str, value: str, error: ErrorCode, why: str
) -> None:
    request = AlterClientMetrics(name=name, changes=((key, value),))
    after, answer = alter_client_metrics(OLD, request)
    assert (after, answer.error) == (OLD, error)
    assert why in answer.message


@pytest.mark.parametrize("value", ["100", " 3600000 ", "+500"])
def test_the_limits_of_the_interval_are_allowed(value: str) -> None:
    request = AlterClientMetrics(name="s", changes=(("interval.ms", value),))
    assert alter_client_metrics((), request)[1] == AlteredClientMetrics()
