"""A broker serves a connection only after its client is authenticated."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.authentication import authentication
from reference_impl.wire.authentication.gate import FRAME_BYTES
from reference_impl.wire.faults.reading import parsed
from reference_impl.wire.faults.rule import When
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.security.settings import Mechanism
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serve import Cluster
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.authentication.conftest import (
    USERS,
    authenticate,
    handshake,
    is_admitted,
    is_closed,
    noted,
    plain,
    security,
)
from tests.reference_impl.wire.one_topic import produce
from tests.reference_impl.wire.security.test_scram import final_message

Connect = Callable[..., Any]
SECRET = plain("alice", "secret")
ILLEGAL = ErrorCode.ILLEGAL_SASL_STATE
FAILED = ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.fixture(scope="module")
def cluster() -> Iterator[Served]:
    with serving(ServeOptions(brokers=1, security=security("SASL_PLAINTEXT"))) as served:
        yield served


@pytest.fixture(autouse=True)
def refuses_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "REFUSES_AFTER_S", 0.001)


@pytest.fixture
def client(cluster: Served, connect: Connect) -> Any:
    return connect(cluster.bootstrap_servers)


# ---------------------------------------------------------------- admitted


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_client_authenticates_in_each_version(version: int, client: Any) -> None:
    assert client.call(Api.API_VERSIONS, 3, client_software_name="t", client_software_version="1")
    answer = handshake(client)
    assert (answer.error_code, answer.mechanisms) == (0, tuple(Mechanism))
    answer = authenticate(client, SECRET, version)
    assert (answer.error_code, answer.error_message, answer.auth_bytes) == (0, "", b"")
    assert is_admitted(client)


@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize("mechanism", [Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512])
def test_scram_takes_two_tokens(name: str, mechanism: Mechanism, client: Any) -> None:
    first = f"n,,n={name.replace('=', '=3D').replace(',', '=2C')},r=nonce".encode()
    assert handshake(client, mechanism).error_code == 0
    challenge = authenticate(client, first)
    assert challenge.error_code == 0
    hash_name = f"sha{mechanism[-3:]}"
    final = final_message(hash_name, USERS[name], first, challenge.auth_bytes)
    assert authenticate(client, final).auth_bytes.startswith(b"v=")
    assert is_admitted(client)


def test_tokens_are_bare_after_the_first_version_of_the_handshake(client: Any) -> None:
    assert handshake(client, version=0).error_code == 0
    client.send_frame(SECRET)
    assert client.receive_frame() == b""
    assert is_admitted(client)


def test_an_unknown_version_of_api_versions_may_be_tried_again(client: Any) -> None:
    client.send_frame(struct.pack(">hhih", Api.API_VERSIONS, 99, 0, -1))
    assert client.receive_frame() is not None
    wrong = client.call(Api.API_VERSIONS, 3, client_software_name="", client_software_version="")
    assert wrong.error_code == ErrorCode.INVALID_REQUEST
    assert client.call(Api.API_VERSIONS, 0).error_code == 0
    assert handshake(client).error_code == 0


def test_authentication_is_over_once_it_has_succeeded(client: Any) -> None:
    handshake(client)
    authenticate(client, SECRET)
    assert handshake(client).error_code == ILLEGAL
    answer = authenticate(client, SECRET)
    assert answer.error_code == ILLEGAL
    assert "after successful authentication" in answer.error_message
    assert is_admitted(client)


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("mechanism", "token", "message"),
    [
        ("PLAIN", plain("alice", "wrong"), "Invalid username or password"),
        ("PLAIN", plain("bob", "secret"), "Invalid username or password"),
        ("SCRAM-SHA-256", b"n,,n=bob,r=nonce", "invalid credentials with SASL mechanism SCRAM-SHA"),
        ("SCRAM-SHA-512", b"garbage", "due to invalid credentials with SASL mechanism SCRAM-SHA"),
        ("SCRAM-SHA-512", b"n,a=bob,n=alice,r=nonce", "authorization id that is different"),
    ],
)
def test_a_refused_client_gets_a_last_response(
    mechanism: str, token: bytes, message: str, cluster: Served, client: Any
) -> None:
    handshake(client, mechanism)
    answer = authenticate(client, token)
    assert answer.error_code == FAILED
    assert message in answer.error_message
    assert client.receive_frame() is None
    assert noted(cluster, "closes the connection")


def test_the_log_has_the_reason_and_the_response_does_not(cluster: Served, client: Any) -> None:
    handshake(client, "SCRAM-SHA-256")
    assert "bob" not in authenticate(client, b"n,,n=bob,r=nonce").error_message
    assert noted(cluster, "user 'bob' has no credential of this mechanism")


def test_an_unknown_mechanism_is_refused_with_those_that_are_known(client: Any) -> None:
    answer = handshake(client, "GSSAPI")
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert answer.mechanisms == tuple(Mechanism)
    assert client.receive_frame() is None


def test_a_mechanism_may_be_switched_off(connect: Connect) -> None:
    only = security("SASL_PLAINTEXT", mechanisms=(Mechanism.SCRAM_SHA_512,))
    with serving(ServeOptions(brokers=1, security=only)) as cluster:
        client = connect(cluster.bootstrap_servers)
        assert handshake(client, "PLAIN").mechanisms == (Mechanism.SCRAM_SHA_512,)
        assert client.receive_frame() is None


def test_a_wrong_bare_token_closes_the_connection(cluster: Served, client: Any) -> None:
    handshake(client, version=0)
    client.send_frame(plain("alice", "wrong"))
    assert client.receive_frame() is None
    assert noted(cluster, "user 'alice' has another password")


def test_a_proof_of_another_length_closes_the_connection(client: Any) -> None:
    """Kafka throws an IllegalArgumentException here, and sends no response."""
    handshake(client, "SCRAM-SHA-256")
    challenge = authenticate(client, b"n,,n=alice,r=nonce").auth_bytes
    nonce = challenge.partition(b",")[0]
    client.send(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"c=biws," + nonce + b",p=AAAA")
    assert client.receive_frame() is None


# ---------------------------------------------------------------- requests out of turn


def test_a_request_before_authentication_closes_the_connection(
    cluster: Served, client: Any
) -> None:
    assert not is_admitted(client)
    assert noted(cluster, "METADATA, although it has not authenticated")


@pytest.mark.parametrize("api", [Api.API_VERSIONS, Api.METADATA, Api.SASL_AUTHENTICATE])
def test_api_versions_is_followed_by_a_handshake(api: Api, client: Any) -> None:
    client.call(Api.API_VERSIONS, 0)
    client.send(api, 0, auth_bytes=b"")
    assert client.receive_frame() is None


def test_another_request_during_the_exchange_gets_its_own_error(client: Any) -> None:
    handshake(client)
    answer = client.call(Api.PRODUCE, 9, **produce("t", b"a"))
    assert answer.responses[0].partition_responses[0].error_code == ILLEGAL
    assert client.receive_frame() is None


def test_a_large_frame_is_refused_until_the_client_is_authenticated(
    cluster: Served, client: Any, connect: Connect
) -> None:
    client.stream.sendall(struct.pack(">i", FRAME_BYTES + 1))
    assert is_closed(client.stream)
    assert noted(cluster, f"the limit is {FRAME_BYTES}")
    other = connect(cluster.bootstrap_servers)
    handshake(other)
    authenticate(other, SECRET)
    other.stream.sendall(struct.pack(">i", FRAME_BYTES + 1))
    other.stream.sendall(struct.pack(">hhih", Api.METADATA, 0, 7, -1) + bytes(FRAME_BYTES - 9))
    assert other.receive_frame() is not None


def test_a_tls_client_is_named_in_the_log(cluster: Served, client: Any) -> None:
    client.stream.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    assert is_closed(client.stream)
    assert noted(cluster, "It is the start of a TLS handshake")


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    steps=st.sampled_from(("", "handshake", "bare handshake", "scram")),
    frame=st.binary(max_size=40)
    | st.builds(
        lambda api, version, rest: struct.pack(">hhi", api, version, 0) + rest,
        st.sampled_from((17, 18, 36, 3)),
        st.integers(0, 4),
        st.binary(max_size=30),
    ),
)
def test_garbage_admits_nobody_and_harms_nobody(
    steps: str, frame: bytes, cluster: Served, connect: Connect
) -> None:
    client = connect(cluster.bootstrap_servers)
    if steps == "scram":
        handshake(client, "SCRAM-SHA-256")
        authenticate(client, b"n,,n=alice,r=nonce")
    elif steps:
        handshake(client, version=int(steps == "handshake"))
    client.send_frame(frame)
    assert not is_admitted(client) or client.receive_frame() is None
    client.stream.close()
    healthy = connect(cluster.bootstrap_servers)
    assert handshake(healthy).error_code == 0
    assert authenticate(healthy, SECRET).error_code == 0
    healthy.stream.close()
    assert not any("bug" in note for note in cluster.notes)


def test_a_client_that_does_not_authenticate_in_time_is_disconnected(connect: Connect) -> None:
    slow = security("SASL_PLAINTEXT", admitted_within_s=1)
    with serving(ServeOptions(brokers=1, security=slow)) as cluster:
        in_time = connect(cluster.bootstrap_servers)
        handshake(in_time)
        authenticate(in_time, SECRET)
        silent, half = (connect(cluster.bootstrap_servers) for _ in range(2))
        handshake(half)
        assert is_closed(silent.stream)
        assert is_closed(half.stream)
        assert is_admitted(in_time)
        assert noted(cluster, "its client was not admitted within 1 s")


def test_a_wrong_password_is_refused_after_a_delay(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The delay stops a client that retries in a loop from occupying the broker (KIP-306)."""
    monkeypatch.setattr(authentication, "REFUSES_AFTER_S", 0.1)
    with serving(ServeOptions(brokers=1, security=security("SASL_PLAINTEXT"))) as cluster:
        client = connect(cluster.bootstrap_servers)
        handshake(client)
        began_s = time.monotonic()
        assert authenticate(client, plain("alice", "wrong")).error_code == FAILED
        assert time.monotonic() - began_s >= 0.1


# ---------------------------------------------------------------- sessions that end


@pytest.fixture(scope="module")
def with_sessions() -> Iterator[Served]:
    options = security("SASL_PLAINTEXT", max_reauth_ms=60_000)
    with serving(ServeOptions(brokers=1, security=options, control=0)) as served:
        yield served


def pass_time(cluster: Served, ms: int) -> None:
    """Advances the clock of the cluster."""
    cluster._run(cluster._cluster.advance_clock(ms))  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def member(with_sessions: Served, connect: Connect) -> Any:
    """Returns a connection whose client `alice` has authenticated itself by PLAIN."""
    client = connect(with_sessions.bootstrap_servers)
    handshake(client)
    assert authenticate(client, SECRET).session_lifetime.total_seconds() == 60
    return client


def test_a_client_extends_its_session(with_sessions: Served, member: Any) -> None:
    for _ in range(3):
        pass_time(with_sessions, 40_000)
        assert handshake(member).error_code == 0
        assert authenticate(member, SECRET).error_code == 0
        assert is_admitted(member)


def test_a_session_that_has_ended_closes_the_connection(with_sessions: Served, member: Any) -> None:
    pass_time(with_sessions, 60_001)
    assert not is_admitted(member)
    assert noted(with_sessions, "the session of 'alice' has ended")


def test_a_session_that_has_ended_may_still_be_extended(with_sessions: Served, member: Any) -> None:
    pass_time(with_sessions, 60_001)
    handshake(member)
    authenticate(member, SECRET)
    assert is_admitted(member)


def test_a_client_authenticates_again_once_a_second(with_sessions: Served, member: Any) -> None:
    assert handshake(member).error_code == 0
    assert authenticate(member, SECRET).error_code == 0
    assert handshake(member).error_code == ILLEGAL
    pass_time(with_sessions, 1_001)
    assert handshake(member).error_code == 0


def test_a_session_keeps_its_user(member: Any) -> None:
    handshake(member)
    answer = authenticate(member, plain("a,b=c", USERS["a,b=c"]))
    assert answer.error_code == FAILED
    assert "Cannot change principals" in answer.error_message
    assert member.receive_frame() is None


def test_a_session_keeps_its_mechanism(member: Any) -> None:
    assert handshake(member, "SCRAM-SHA-256").error_code == 0
    member.send(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"n,,n=alice,r=nonce")
    assert member.receive_frame() is None


def test_an_unknown_mechanism_ends_a_session_without_a_response(member: Any) -> None:
    member.send(Api.SASL_HANDSHAKE, 1, mechanism="GSSAPI")
    assert member.receive_frame() is None


# ---------------------------------------------------------------- faults and the log


def test_faults_act_on_authentication_and_the_log_has_it(connect: Connect) -> None:
    lost = parsed('{"do": "disconnect", "when": {"api": "SaslAuthenticate", "nth": 1}}')
    options = ServeOptions(
        brokers=1, security=security("SASL_PLAINTEXT"), faults=(lost,), control=0
    )
    with serving(options) as cluster:
        for is_lost in (True, False):
            client = connect(cluster.bootstrap_servers)
            handshake(client)
            client.send(Api.SASL_AUTHENTICATE, 2, auth_bytes=SECRET)
            assert (client.receive_frame() is None) is is_lost
        served = cluster._cluster  # pyright: ignore[reportPrivateUsage]
        assert isinstance(served, Cluster)
        log = served.faults.log
        assert log is not None
        logged = [(entry.request.api, entry.answered) for entry in log.matching(When())]
        assert logged == [
            (Api.SASL_HANDSHAKE, True),
            (Api.SASL_AUTHENTICATE, False),
            (Api.SASL_HANDSHAKE, True),
            (Api.SASL_AUTHENTICATE, True),
        ]
