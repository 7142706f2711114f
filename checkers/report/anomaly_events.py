"""Builds the event with the verdict on an anomaly, and writes the occurrences of the anomaly to
a Parquet file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from checkers.events import HISTORY, AnomalyDecided

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa


class Described(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def statement(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def explanation(self) -> str: ...
    @property
    def source(self) -> str: ...


def decided(anomaly: Described, **verdict: Any) -> AnomalyDecided:
    return AnomalyDecided(
        anomaly=anomaly.id,
        statement=anomaly.statement,
        rule=anomaly.rule,
        explanation=anomaly.explanation,
        source=anomaly.source,
        **verdict,
    )


def undecided(
    anomalies: Iterable[Described], history: str, reason: str, input_kind: str = HISTORY
) -> Iterator[AnomalyDecided]:
    for anomaly in anomalies:
        yield AnomalyDecided(
            anomaly=anomaly.id,
            verdict="undecided",
            count=0,
            permitted=False,
            history=history,
            input_kind=input_kind,
            reason=reason,
        )


def keep_rows(tables: Mapping[str, pa.Table], folder: Path, name: str) -> dict[str, str]:
    """Writes the occurrences of each anomaly to the file `FOLDER/NAME/ANOMALY.parquet`.

    Returns the path of each file relative to FOLDER, by the name of the anomaly. An anomaly without
    occurrences has no file.
    """
    import pyarrow.parquet as pq

    kept: dict[str, str] = {}
    for anomaly, table in tables.items():
        if table.num_rows:
            (folder / name).mkdir(parents=True, exist_ok=True)
            kept[anomaly] = f"{name}/{anomaly}.parquet"
            pq.write_table(table, folder / kept[anomaly])
    return kept
