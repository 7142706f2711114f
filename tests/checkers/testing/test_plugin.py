"""The pytest plugin works in separate runs of pytest."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest
from confluent_kafka import Producer

def delivered(broker, topic):
    delivered = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0,
                         "message.timeout.ms": 5000})
    producer.produce(topic, b"a", on_delivery=lambda error, _: delivered.append(error is None))
    producer.flush(10)
    return delivered == [True]
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A pytest project in which Urteil's plugin is the only plugin."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_subprocess(
        "-p", "checkers.testing.plugin", "--strict-markers", *options
    )


def test_each_test_has_the_broker_that_its_marker_describes(project: pytest.Pytester) -> None:
    of_the_project = project.mkpydir("model") / "__init__.py"
    of_the_project.write_text("raise RuntimeError('the plugin imports the project')\n")
    project.makepyfile(
        TESTS
        + """
FAULT = {"do": "error", "error": "TOPIC_AUTHORIZATION_FAILED", "when": {"api": "Produce"}}

@pytest.mark.urteil_broker(brokers=1, topics=["orders"], partitions=2, faults=[FAULT])
def test_with_a_fault(urteil_broker):
    assert urteil_broker.bootstrap_servers.count(":") == 1
    assert len(urteil_broker.partitions("orders")) == 2
    assert not delivered(urteil_broker, "orders")

@pytest.mark.urteil_broker(brokers=1, topics={"orders": 1})
def test_without_it(urteil_broker):
    assert delivered(urteil_broker, "orders")
"""
    )
    run(project).assert_outcomes(passed=2)


def test_tests_share_a_broker_and_no_fault_outlives_its_test(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nurteil_scope = session\nurteil_brokers = 2\n")
    project.makepyfile(
        TESTS
        + """
pids = set()

@pytest.mark.urteil_broker(topics=["orders"])
def test_first(urteil_broker):
    pids.add(urteil_broker.pid)
    urteil_broker.fault("disconnect", when={})
    urteil_broker.happen("pause", broker=1)

def test_second(urteil_broker):
    assert {urteil_broker.pid} == pids
    assert urteil_broker.requests() == []
    assert delivered(urteil_broker, "orders")

@pytest.mark.urteil_broker(brokers=3)
def test_third(urteil_broker):
    pass

@pytest.mark.urteil_broker(security_protocol="SASL_PLAINTEXT", users={"alice": "secret"})
def test_fourth(urteil_broker):
    pass
"""
    )
    result = run(project)
    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(["*needs another security_protocol than the tests*"])
    result.stdout.fnmatch_lines(["*needs 3 brokers, but shares 2 with other tests*"])


def test_a_wrong_setting_of_the_marker_is_an_error(project: pytest.Pytester) -> None:
    project.makepyfile(
        "import pytest\n\n@pytest.mark.urteil_broker(broker=1)\ndef test(urteil_broker): pass\n"
    )
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*takes only brokers, topics, partitions, faults, processes, security_protocol, *"]
    )
