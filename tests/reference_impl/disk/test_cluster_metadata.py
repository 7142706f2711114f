"""The cluster metadata is the same after it was written change by change and read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from model.vocabulary import BrokerEpoch, BrokerId, LeaderEpoch, PartitionEpoch, TopicPartition
from reference_impl.disk.cluster_metadata import ClusterMetadata
from reference_impl.disk.files import BadDataDir
from reference_impl.protocol.controller import BrokerState, MetadataImage, PartitionState
from reference_impl.protocol.topic_config import CleanupPolicy, LogConfig

ONE, TWO = BrokerId(1), BrokerId(2)
ORDERS = (TopicPartition("orders", 0), TopicPartition("orders", 1))
STATE = PartitionState(
    replicas=(ONE, TWO),
    isr=(ONE, TWO),
    leader=ONE,
    leader_epoch=LeaderEpoch(3),
    partition_epoch=PartitionEpoch(4),
    log_config=LogConfig(cleanup_policy=CleanupPolicy.COMPACT, retention_ms=5),
    configured=frozenset({"retention_ms", "cleanup_policy"}),
)
FIRST = MetadataImage(
    version=7,
    brokers=(BrokerState(broker_id=ONE, broker_epoch=BrokerEpoch(6), fenced=False),),
    topic_partitions=tuple((place, STATE) for place in ORDERS),
)
SECOND = replace(
    FIRST,
    version=8,
    topic_partitions=(
        (ORDERS[0], STATE),
        (ORDERS[1], replace(STATE, isr=(TWO,), leader=TWO, elr=(ONE,))),
    ),
)


def kept(file: Path, *images: MetadataImage) -> ClusterMetadata:
    metadata = ClusterMetadata.open(file)
    for starts, image in enumerate(images, metadata.starts + 1):
        metadata.keep(image, starts)
    return metadata


def test_without_a_file_there_is_no_metadata(tmp_path: Path) -> None:
    metadata = ClusterMetadata.open(tmp_path / "metadata")
    assert (metadata.image, metadata.starts) == (MetadataImage(), 0)


def test_the_last_image_is_read_again(tmp_path: Path) -> None:
    kept(tmp_path / "metadata", FIRST, SECOND)
    metadata = ClusterMetadata.open(tmp_path / "metadata")
    assert (metadata.image, metadata.starts) == (SECOND, 2)
    kept(tmp_path / "metadata", replace(SECOND, version=9))
    assert ClusterMetadata.open(tmp_path / "metadata").image == replace(SECOND, version=9)


def test_a_line_has_only_the_changes(tmp_path: Path) -> None:
    kept(tmp_path / "metadata", FIRST, SECOND)
    _, line = (tmp_path / "metadata").read_text().splitlines()
    assert '"brokers"' not in line
    assert line.count('"orders"') == 1


def test_a_deleted_partition_is_gone(tmp_path: Path) -> None:
    fewer = replace(FIRST, version=8, topic_partitions=FIRST.topic_partitions[:1])
    kept(tmp_path / "metadata", FIRST, fewer)
    assert ClusterMetadata.open(tmp_path / "metadata").image == fewer


def test_a_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "metadata"
    kept(file, FIRST, SECOND)
    file.write_bytes(file.read_bytes()[:-10])
    assert ClusterMetadata.open(file).image == FIRST
    assert file.read_bytes().count(b"\n") == 1, "one line has the whole image"
    kept(file, SECOND)
    assert ClusterMetadata.open(file).image == SECOND


def test_a_field_of_a_later_version_has_its_default(tmp_path: Path) -> None:
    file = tmp_path / "metadata"
    kept(file, FIRST)
    file.write_text(file.read_text().replace('"recovering":false,', ""))
    assert ClusterMetadata.open(file).image == FIRST


@pytest.mark.parametrize("line", ["{", "[]", '{"starts":1}', '{"starts":1,"sort":2}'])
def test_a_malformed_line_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "metadata"
    kept(file, FIRST)
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(BadDataDir, match=r"line 2: .*; restore the file, or name a new data dir"):
        ClusterMetadata.open(file)
