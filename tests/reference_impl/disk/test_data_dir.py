"""`LogDirectory.keep` writes what changed in a broker, and returns the broker with less data in
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.disk.checkpoints import HIGH_WATERMARKS, LOG_STARTS, read_offsets
from reference_impl.disk.data_dir import DataDir, LogDirectory
from reference_impl.disk.stored_batches import IN_MEMORY, StoredBatches
from reference_impl.protocol.deletion import DeleteRecords
from reference_impl.protocol.messages import NodeId
from reference_impl.protocol.topic_config import LogConfig
from reference_impl.protocol.topic_id import topic_id
from tests.reference_impl.conftest import InstantCluster

A0 = TopicPartition("a", 0)


@pytest.fixture
def directory(tmp_path: Path) -> LogDirectory:
    return LogDirectory(tmp_path, topic_id)


def test_the_folder_of_a_new_broker_has_its_properties(tmp_path: Path) -> None:
    data = DataDir.open(tmp_path, cluster_id="c", topic_id=topic_id, note=print)
    data.start_broker(BrokerId(1))
    assert (tmp_path / "broker-1" / "meta.properties").exists()
    data.close({}, now_ms=0)


def keep(directory: LogDirectory, cluster: InstantCluster) -> None:
    """Writes the logs of broker 1 to the directory. `directory.keep` returns a new broker that
    reads these files. The cluster goes on with this broker.
    """
    broker = cluster.nodes[NodeId(1)]
    assert isinstance(broker, Broker)
    cluster.nodes[NodeId(1)] = directory.keep(broker, cluster.now_ms)


def segments_in_memory(cluster: InstantCluster) -> int:
    broker = cluster.nodes[NodeId(1)]
    assert isinstance(broker, Broker)
    segments = broker.replicas[A0].log.segments
    return sum(not isinstance(segment.batches, StoredBatches) for segment in segments)


def test_closed_segments_leave_the_memory_of_the_broker_as_soon_as_enough_have_closed(
    directory: LogDirectory, start_cluster: Callable[[], InstantCluster]
) -> None:
    cluster = start_cluster()
    cluster.create("a", log_config=LogConfig(segment_bytes=1))
    found: list[int] = []
    for number in range(IN_MEMORY + 3):
        cluster.write(A0, f"{number}")
        keep(directory, cluster)
        found.append(segments_in_memory(cluster))
    assert found == [*range(1, IN_MEMORY + 1), 1, 2, 3], "the last segment stays in memory"
    values = [f"{number}" for number in range(IN_MEMORY + 3)]
    assert cluster.committed(A0) == values


def test_a_log_that_starts_at_offset_0_has_no_checkpoint_of_its_start(
    directory: LogDirectory, start_cluster: Callable[[], InstantCluster]
) -> None:
    """Kafka: LogManager.checkpointLogStartOffsetsInDir writes the log start of a log only if it is
    not 0.
    """
    cluster = start_cluster()
    cluster.create("a", partitions=2)
    cluster.write(A0, "0")
    keep(directory, cluster)
    assert read_offsets(directory.folder / HIGH_WATERMARKS)[A0] == 0
    assert read_offsets(directory.folder / LOG_STARTS) == {}
    cluster.call(DeleteRecords(topic_partition=A0))
    cluster.pass_time(10_000)
    keep(directory, cluster)
    assert read_offsets(directory.folder / LOG_STARTS) == {A0: 1}
