"""Deleted segments and topics are renamed at once. Their files are deleted after
file.delete.delay.ms.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.disk.deferred_deletion import DeferredDeletion, mark_file, mark_folder
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from reference_impl.wire.serving.start_configs import started_with
from tests.reference_impl.disk.test_log_folder import Written
from tests.reference_impl.wire.waiting import until


def names(folder: Path, pattern: str = "*") -> list[str]:
    return sorted(one.name for one in folder.glob(pattern))


def test_a_file_is_deleted_when_its_time_has_come(tmp_path: Path) -> None:
    deletion = DeferredDeletion()
    for name, at_ms in (("late", 30), ("early", 20)):
        (tmp_path / name).touch()
        deletion.add(mark_file(tmp_path / name), at_ms)
    assert mark_file(tmp_path / "missing") == ()
    for now_ms, left in (
        (19, ["early.deleted", "late.deleted"]),
        (20, ["late.deleted"]),
        (31, []),
    ):
        deletion.run(now_ms)
        assert names(tmp_path) == left


@pytest.mark.parametrize("name", ["orders-0", f"{'x' * 249}-0"])
def test_a_folder_gets_a_new_name_each_time_and_is_deleted_with_its_files(
    tmp_path: Path, name: str
) -> None:
    deletion = DeferredDeletion()
    for _ in range(2):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.log").touch()
        deletion.add([mark_folder(tmp_path / name)], 5)
    assert len(names(tmp_path)) == 2
    assert all(one.startswith(name[:200]) for one in names(tmp_path, "*.*-delete"))
    deletion.run(5)
    assert not names(tmp_path)


def test_the_files_of_truncated_segments_are_left_until_the_next_start(tmp_path: Path) -> None:
    written = Written(tmp_path / "orders-0")
    for _ in range(8):
        written.append()
    gone = names(written.folder, "*.log")[1:]
    written.truncate(2)
    assert names(written.folder, "*.log") == ["00000000000000000000.log"]
    left = names(written.folder, "*.deleted")
    assert {f"{one}.deleted" for one in gone} <= set(left)
    assert {Path(one.removesuffix(".deleted")).suffix for one in left} >= {".log", ".snapshot"}
    assert written.read().end_offset == 2
    assert not names(written.folder, "*.deleted")


@pytest.mark.parametrize(("delay_ms", "is_left"), [(1, False), (60_000, True)])
def test_the_folder_of_a_deleted_topic_is_left_for_the_delay(
    tmp_path: Path, delay_ms: int, is_left: bool
) -> None:
    broker_settings = started_with([f"log.segment.delete.delay.ms={delay_ms}"])
    options = ServeOptions(brokers=1, data_dir=tmp_path, broker_settings=broker_settings)

    def found() -> list[str]:
        return names(tmp_path / "broker-1", "gone*")

    with serving(options) as served:
        admin = AdminClient({"bootstrap.servers": served.bootstrap_servers, "log_level": 0})
        admin.create_topics([NewTopic("gone", 1)])["gone"].result(10)
        until(lambda: found() == ["gone-0"])
        admin.delete_topics(["gone"])["gone"].result(10)
        until(lambda: "gone-0" not in found() and bool(found()) == is_left)
    with serving(options):
        assert not found()
