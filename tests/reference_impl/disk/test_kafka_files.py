"""Files that Apache Kafka 4.3 wrote are read; written again, they have the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.vocabulary import BrokerEpoch, BrokerId, Offset, TopicPartition
from reference_impl.disk import checkpoints, producer_snapshot
from reference_impl.disk.files import BadDataDir
from reference_impl.disk.recovery import Checkpointed, recovered
from reference_impl.log.producer_state import ProducerStates

KAFKA = Path(__file__).parents[2] / "data" / "apache_kafka" / "log_dirs_stopped" / "broker-3"
CLUSTER = "dXJ0ZWlsLWFwYWNoZS1rYQ"


def test_a_checkpoint_of_offsets_is_read_and_written_unchanged(tmp_path: Path) -> None:
    name = checkpoints.HIGH_WATERMARKS
    offsets = checkpoints.read_offsets(KAFKA / name)
    assert offsets[TopicPartition("orders", 0)] == 141
    checkpoints.write_offsets(tmp_path / name, offsets)
    assert (tmp_path / name).read_bytes() == (KAFKA / name).read_bytes()


def test_a_checkpoint_of_leader_epochs_is_read_and_written_unchanged(tmp_path: Path) -> None:
    file = KAFKA / "payments-0" / checkpoints.LEADER_EPOCHS
    epochs = checkpoints.read_leader_epochs(file)
    assert [(*entry,) for entry in epochs] == [(0, 0), (2, 47)]
    checkpoints.write_leader_epochs(tmp_path / file.name, epochs)
    assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_the_metadata_of_a_partition_is_read_and_written_unchanged(tmp_path: Path) -> None:
    file = KAFKA / "payments-0" / checkpoints.PARTITION_METADATA
    topic_id = checkpoints.read_topic_id(file)
    assert topic_id is not None
    checkpoints.write_partition_metadata(tmp_path / file.name, topic_id)
    assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_the_file_of_a_clean_shutdown_is_written_unchanged_and_read_once(tmp_path: Path) -> None:
    checkpoints.write_clean_shutdown(tmp_path, BrokerEpoch(128))
    file = tmp_path / checkpoints.CLEAN_SHUTDOWN
    assert file.read_bytes() == (KAFKA / checkpoints.CLEAN_SHUTDOWN).read_bytes()
    assert checkpoints.take_clean_shutdown(tmp_path) == 128
    assert checkpoints.take_clean_shutdown(tmp_path) == -1, "it is valid once"


def test_meta_properties_name_the_broker_and_its_cluster() -> None:
    file = KAFKA / checkpoints.META_PROPERTIES
    assert checkpoints.check_meta_properties(file, CLUSTER, BrokerId(3))
    with pytest.raises(BadDataDir, match=r"node.id is 3, but must be 4; name the data directory"):
        checkpoints.check_meta_properties(file, CLUSTER, BrokerId(4))


@pytest.mark.parametrize("file", sorted(KAFKA.rglob("*.snapshot")), ids=lambda file: file.name)
def test_a_producer_snapshot_is_read_and_written_unchanged(file: Path) -> None:
    states = producer_snapshot.decoded(file.read_bytes())
    assert states is not None
    assert producer_snapshot.encoded(states) == file.read_bytes()


def test_a_damaged_producer_snapshot_is_ignored() -> None:
    file = next(file for file in KAFKA.rglob("*.snapshot") if file.stat().st_size > 20)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    assert producer_snapshot.decoded(bytes(data)) is None
    assert producer_snapshot.decoded(file.read_bytes()[:5]) is None


@pytest.mark.parametrize("name", ["orders-0", "payments-0", "__transaction_state-0"])
def test_a_log_and_its_snapshots_are_read(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for file in (KAFKA / name).iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    notes: list[str] = []
    log = recovered(folder, Checkpointed(high_watermark=Offset(2**31)), notes.append)
    assert not notes
    end, newest = log.snapshots[-1]
    assert end == log.end_offset
    from_batches = producer_snapshot.encoded(ProducerStates.of(log.batches()))
    computed = producer_snapshot.decoded(from_batches)
    assert computed is not None
    assert computed.producers == newest.producers
    assert computed.transactions.open == newest.transactions.open


@pytest.mark.parametrize(
    "text", ["1\n0\n", "0\n2\norders 0 1\n", "0\n1\norders zero 1\n", "0\n1\norders 0 1", "\0\0\0"]
)
def test_a_malformed_checkpoint_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / checkpoints.HIGH_WATERMARKS
    file.write_text(text)
    with pytest.raises(BadDataDir, match="restore the file, or delete it"):
        checkpoints.read_offsets(file)


def test_an_absent_or_empty_checkpoint_has_no_offsets(tmp_path: Path) -> None:
    file = tmp_path / checkpoints.HIGH_WATERMARKS
    assert checkpoints.read_offsets(file) == {}
    file.touch()
    assert checkpoints.read_offsets(file) == {}
