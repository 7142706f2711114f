"""A pytest plugin with the fixture `urteil_broker`, which is a running reference broker.

    @pytest.mark.urteil_broker(brokers=3, topics=["orders"], partitions=3, faults=[...])
    def test_orders(urteil_broker):
        producer = Producer({"bootstrap.servers": urteil_broker.bootstrap_servers})

By default, each test has its own broker. If the pytest configuration has `urteil_scope = module` or
`urteil_scope = session`, the tests of a module or of the session share a broker. After each test,
the shared broker is reset: all faults end and every broker runs. The topics are not deleted.

pytest loads this module in every run if Urteil is installed. The module therefore imports other
modules of Urteil when a test uses the fixture, not before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

if TYPE_CHECKING:
    from checkers.testing.broker import Broker

# Settings of the cluster, without its brokers, that all tests which share it have in common.
SHARED: Final = (
    "processes",
    "security_protocol",
    "users",
    "tls_cert",
    "tls_key",
    "tls_client_ca",
)
Scope = Literal["function", "class", "module", "package", "session"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("urteil_scope", "Tests of this scope share a broker (function).", default="")
    parser.addini(
        "urteil_brokers", "Number of brokers of the fixture urteil_broker (3).", default=""
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "urteil_broker(brokers=3, topics=(), partitions=1, faults=(), processes=False, "
        "security_protocol=..., users=..., tls_cert=..., tls_key=..., tls_client_ca=...): "
        "settings of the fixture urteil_broker; topics are names, or a dictionary from names to "
        "numbers of partitions.",
    )


def _scope(fixture_name: str, config: pytest.Config) -> Scope:
    del fixture_name
    return config.getini("urteil_scope") or "function"


def _settings(node: Any) -> dict[str, Any]:
    known = ("brokers", "topics", "partitions", "faults", *SHARED)
    marker = node.get_closest_marker("urteil_broker")
    settings: dict[str, Any] = {} if marker is None else dict(marker.kwargs)
    if marker is not None and (marker.args or not settings.keys() <= set(known)):
        raise pytest.UsageError(f"@pytest.mark.urteil_broker takes only {', '.join(known)} by name")
    return settings


@pytest.fixture(scope=_scope)
def _urteil_process(request: pytest.FixtureRequest) -> Iterator[Broker]:
    from checkers.testing.broker import Broker

    default = request.config.getini("urteil_brokers") or "3"
    settings = _settings(request.node)
    shared = {name: settings[name] for name in SHARED if name in settings}
    with Broker(brokers=settings.get("brokers", int(default)), **shared) as broker:
        yield broker


@pytest.fixture
def urteil_broker(request: pytest.FixtureRequest, _urteil_process: Broker) -> Iterator[Broker]:
    """A running reference broker with the topics and faults of the marker `urteil_broker`."""
    broker, settings = _urteil_process, _settings(request.node)
    wanted = settings.get("brokers", broker.brokers)
    if wanted != broker.brokers:
        raise pytest.UsageError(
            f"{request.node.nodeid} needs {wanted} brokers, but shares {broker.brokers} with other "
            "tests: set urteil_scope = function, or mark the module instead"
        )
    for name in SHARED:
        if name in settings and settings[name] != getattr(broker, name):
            raise pytest.UsageError(
                f"{request.node.nodeid} needs another {name} than the tests that it shares a "
                "broker with: set urteil_scope = function, or mark the module instead"
            )
    topics: Any = settings.get("topics", ())
    partitions: int = settings.get("partitions", 1)
    each: dict[str, int] = dict.fromkeys(topics, partitions)
    named = topics if isinstance(topics, dict) else each
    for name, count in named.items():
        broker.create_topic(name, count)
    for fault in settings.get("faults", ()):
        broker.call("POST", "/faults", fault)
    yield broker
    if _scope("", request.config) != "function" and broker.pid is not None:
        broker.reset()
