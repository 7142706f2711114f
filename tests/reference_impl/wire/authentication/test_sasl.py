"""Requests for SASL and SCRAM credentials, on connections of every security protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from confluent_kafka.admin._scram import (
    ScramMechanism as ClientMechanism,
)

from reference_impl.disk.files import BadDataDir
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.security.credentials import FILE, Credentials
from reference_impl.wire.security.scram import ScramCredential, ScramMechanism
from reference_impl.wire.security.settings import Mechanism, Security, SecurityProtocol
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.authentication.conftest import client_settings, noted
from tests.reference_impl.wire.single_requests import versions

Serve = Callable[..., Served]
Connect = Callable[[str], Any]
SHA_256, SHA_512 = 1, 2


@pytest.fixture
def client(served: Serve, connect: Callable[[str], Any]) -> Any:
    return connect(served("PLAINTEXT").bootstrap_servers)


@versions(Api.SASL_HANDSHAKE)
def test_a_plaintext_listener_refuses_a_handshake(version: int, client: Any) -> None:
    answer = client.call(Api.SASL_HANDSHAKE, version, mechanism="PLAIN")
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, ())
    assert client.call(Api.API_VERSIONS, 0).error_code == 0


@versions(Api.SASL_AUTHENTICATE)
def test_a_plaintext_listener_refuses_a_token(version: int, client: Any) -> None:
    answer = client.call(Api.SASL_AUTHENTICATE, version, auth_bytes=b"\0alice\0secret")
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE


# ---------------------------------------------------------------- SCRAM credentials


def upsertion(name: str = "bob", **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "mechanism": SHA_256,
        "iterations": 4096,
        "salt": b"salt",
        "salted_password": b"salted",
        **fields,
    }


def deletion(name: str = "bob", mechanism: int = SHA_256) -> dict[str, Any]:
    return {"name": name, "mechanism": mechanism}


def alter(client: Any, **alterations: Any) -> list[tuple[str, int, str | None]]:
    alterations = {"deletions": [], "upsertions": [], **alterations}
    answer = client.call(Api.ALTER_USER_SCRAM_CREDENTIALS, 0, **alterations)
    return [(one.user, one.error_code, one.error_message) for one in answer.results]


def describe(client: Any, *names: str) -> dict[str, Any]:
    users = [{"name": name} for name in names] or None
    answer = client.call(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=users)
    assert (answer.error_code, answer.error_message) == (0, None)
    return {
        one.user: one.error_code
        or [(info.mechanism, info.iterations) for info in one.credential_infos]
        for one in answer.results
    }


def test_credentials_are_added_described_and_deleted(client: Any) -> None:
    two = [upsertion("carla", mechanism=SHA_512, iterations=16384), upsertion("bob")]
    assert alter(client, upsertions=two) == [("carla", 0, None), ("bob", 0, None)]
    assert describe(client) == {"bob": [(SHA_256, 4096)], "carla": [(SHA_512, 16384)]}
    assert describe(client, "bob", "dora") == {
        "bob": [(SHA_256, 4096)],
        "dora": ErrorCode.RESOURCE_NOT_FOUND,
    }
    assert describe(client, "bob", "bob") == {"bob": ErrorCode.DUPLICATE_RESOURCE}
    gone = [deletion("carla", SHA_512), deletion("bob")]
    assert [error for _, error, _ in alter(client, deletions=gone)] == [0, 0]
    assert describe(client) == {}


@pytest.mark.parametrize(
    ("alterations", "error", "message"),
    [
        ({"upsertions": [upsertion("")]}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "must not be empty"),
        ({"upsertions": [upsertion(mechanism=3)]}, ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown"),
        ({"upsertions": [upsertion(iterations=4095)]}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "few"),
        ({"upsertions": [upsertion(iterations=16385)]}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "many"),
        ({"deletions": [deletion()]}, ErrorCode.RESOURCE_NOT_FOUND, "does not exist"),
        ({"deletions": [deletion("bob", 0)]}, ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown"),
        ({"upsertions": [upsertion()] * 3}, ErrorCode.DUPLICATE_RESOURCE, "altered twice"),
    ],
)
def test_an_alteration_is_refused(
    alterations: dict[str, Any], error: ErrorCode, message: str, client: Any
) -> None:
    ((_, found, text),) = alter(client, **alterations)
    assert found == error
    assert message in (text or "")
    assert describe(client) == {}


def test_librdkafka_adds_a_user_who_then_connects(served: Serve) -> None:
    cluster = served("SASL_PLAINTEXT")
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    admin = AdminClient({**servers, **client_settings("SASL_PLAINTEXT")})
    info = ScramCredentialInfo(ClientMechanism.SCRAM_SHA_512, 8192)
    admin.alter_user_scram_credentials([UserScramCredentialUpsertion("erik", info, b"new")])[
        "erik"
    ].result(10)
    described: Any = admin.describe_user_scram_credentials(["erik"])
    described = described["erik"].result(10)
    assert [one.iterations for one in described.scram_credential_infos] == [8192]

    as_erik = client_settings("SASL_PLAINTEXT", "SCRAM-SHA-512", "erik", password="new")
    assert AdminClient({**servers, **as_erik}).list_topics(timeout=10).brokers

    gone = UserScramCredentialDeletion("erik", ClientMechanism.SCRAM_SHA_512)
    admin.alter_user_scram_credentials([gone])["erik"].result(10)
    with pytest.raises(KafkaException):
        AdminClient({**servers, **as_erik}).list_topics(timeout=0.4)
    assert noted(cluster, "user 'erik' has no credential")


def test_a_data_directory_keeps_changed_credentials(tmp_path: Path, connect: Connect) -> None:
    options = ServeOptions(brokers=1, data_dir=tmp_path)
    with serving(options) as served:
        client = connect(served.bootstrap_servers)
        alter(client, upsertions=[upsertion("bob"), upsertion("eve")])
        alter(client, deletions=[deletion("eve")])
        alter(client, upsertions=[upsertion("bob", iterations=8192, salted_password=b"other")])
    with serving(options) as served:
        client = connect(served.bootstrap_servers)
        assert describe(client) == {"bob": [(SHA_256, 8192)]}
        assert served.notes == []


def test_a_change_outlasts_the_user_of_an_option(tmp_path: Path) -> None:
    security = Security(
        protocol=SecurityProtocol.SASL_PLAINTEXT,
        users={"alice": "secret", "bob": "x"},
        mechanisms=(Mechanism.SCRAM_SHA_256,),
    )
    of = ScramMechanism.SHA_256
    first, again, without = (Credentials.of(security) for _ in range(3))
    first.keep_in(tmp_path)
    changed = ScramCredential.of_password(of, "new")
    first.change({(of, "alice"): changed, (of, "bob"): None})
    again.keep_in(tmp_path)
    assert again.scram[of] == {"alice": changed}
    again.change({(of, "bob"): changed})
    assert again.scram[of] == {"alice": changed, "bob": changed}
    assert without.scram[of].keys() == {"alice", "bob"}, "no data directory, no change"


def test_a_malformed_file_of_credentials_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('[{"user": "alice"}]')
    with pytest.raises(BadDataDir, match=r"scram-credentials.json: .*; restore the file, or"):
        Credentials().keep_in(tmp_path)
