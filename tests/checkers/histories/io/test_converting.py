"""A converted history has the same rows; fields that the format lacks are left out and counted."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.histories.io.converting import convert
from checkers.histories.io.faults import FILE, faults
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.reading import whole
from checkers.histories.io.recorded import metadata
from checkers.histories.io.unreadable import UnreadableHistory
from model.faults import InputFault
from model.history_notation import history
from tools.history_format import examples

DATA = Path(__file__).parents[3] / "data"
TABLE = as_table(history("p1 send k=a -> ok @0\np2 poll -> ok k=a@0"))
NEMESIS = "{:process :nemesis :type :info :f :kill :value 1}\n"


def test_a_jepsen_history_is_converted(tmp_path: Path) -> None:
    sample = DATA / "jepsen" / "001-lost.edn"
    (tmp_path / "h.edn").write_text(NEMESIS + sample.read_text() + NEMESIS)
    converted = convert(tmp_path / "h.edn", tmp_path / "out")
    assert whole(tmp_path / "out").equals(whole(sample))
    assert converted.rows == whole(sample).num_rows
    assert converted.unmapped["events of process :nemesis"] == 2
    assert set(converted.unmapped) == {"events of process :nemesis", "field :index"}
    assert metadata(tmp_path / "out")["schema_version"] == 2


def test_unknown_columns_are_left_out_and_counted(tmp_path: Path) -> None:
    hosts = TABLE.append_column("host", pa.array(["a", None]))
    pq.write_table(hosts, tmp_path / "h.parquet")
    lines = [json.dumps({**json.loads(line), "trace": {"id": 7}}) for line in examples()]
    (tmp_path / "h.ndjson").write_text("\n".join(lines))
    assert convert(tmp_path / "h.parquet", tmp_path / "a").unmapped == {"column host": 1}
    assert convert(tmp_path / "h.ndjson", tmp_path / "b").unmapped == {"column trace": len(lines)}
    assert whole(tmp_path / "a").equals(TABLE)


def test_a_recording_keeps_its_settings_and_faults(tmp_path: Path) -> None:
    recording = DATA / "apache_kafka" / "safe"
    convert(recording, tmp_path / "out")
    assert metadata(tmp_path / "out") == {**metadata(recording), "schema_version": 2}
    assert whole(tmp_path / "out").equals(whole(recording))
    assert (tmp_path / "out" / FILE).exists() == (recording / FILE).exists()
    assert faults(tmp_path / "out") == faults(recording)


def test_an_invalid_history_leaves_no_folder(tmp_path: Path) -> None:
    odd = TABLE.set_column(3, "outcome", pa.array(["ok", "good"]))
    pq.write_table(odd, tmp_path / "h.parquet")
    with pytest.raises(UnreadableHistory, match="column outcome is none of ok, fail, info"):
        convert(tmp_path / "h.parquet", tmp_path / "out")
    assert [one.name for one in tmp_path.iterdir()] == ["h.parquet"]


def test_a_folder_is_never_overwritten(tmp_path: Path) -> None:
    with pytest.raises(InputFault, match="already exists; name a new folder, or delete it first"):
        convert(DATA / "apache_kafka" / "safe", tmp_path)
