"""The checks `linearizable` and `shared` of the benchmark, as Polars queries.

The streaming engine of Polars runs the queries. The check `linearizable` runs the first of these
queries. The check `shared` runs all three.

- Real-time order: a send or end-offset request must not return an offset below the known end of
  the log. Each completed operation shows that the log reached some end. The running maximum of
  these ends is the known end. An as-of join finds it for the moment when the request began.
- Agreement on the log: the records are grouped once by value and once by offset.
- Order within a process: a process must not go back in a log, and its polls must not skip a record.
  A shift finds the previous offset of the process. The records of a log are ranked by offset: if
  the rank rises by more than 1 from one polled record of a process to the next, a record was
  skipped.
"""

# Real-time order takes 8 CPU s for ten million rows of 256 keys and 7.5 CPU s for one key. With the
# streaming engine, it takes 7.5 and 6.5. A query that orders by offset, without a join, took 10 and
# 7. Storing keys as categories saved nothing.

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars import col

from benchmarks.analyze.peers import LINEARIZABLE, SHARED, Locations, as_locations

SEND, POLL, END = (col("kind") == kind for kind in ("send", "poll", "end_offset"))
OK = col("outcome") == "ok"
VALUE = ("key", "value")


def linearizable(history: Path) -> Locations:
    """Returns the occurrences of each anomaly of LINEARIZABLE, as tuples of fields such as key and
    offset.
    """
    return as_locations(_collected(_real_time(_rows(history))), LINEARIZABLE)


def everything(history: Path) -> Locations:
    """Returns the occurrences of each anomaly of SHARED, as tuples of fields such as key and
    offset.
    """
    rows = _rows(history)
    found = [_collected(query(rows)) for query in (_real_time, _log, _steps)]
    return as_locations([row for some in found for row in some], SHARED)


def _collected(query: pl.LazyFrame) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = query.collect(engine="streaming").rows()
    return rows


def _rows(history: Path) -> pl.LazyFrame:
    return (
        pl.scan_parquet(history / "part-*.parquet")
        .filter(SEND | POLL | END)
        .rename({"offset": "o"})
        .with_columns(
            loose=SEND | (col("isolation") == "read_uncommitted").fill_null(value=False),
            reach=col("o") + (~END).cast(pl.Int64),
        )
    )


def _real_time(rows: pl.LazyFrame) -> pl.LazyFrame:
    columns = ["key", "kind", "op", "o", "invoked_ns"]
    observed = rows.filter(OK & col("completed_ns").is_not_null() & col("o").is_not_null())
    held_back = rows.filter((col("f") == "txn") & SEND).select("key").unique()
    unacknowledged = rows.filter(SEND & ((col("outcome") == "info") | (OK & col("o").is_null())))
    placed = (
        rows.filter(POLL & OK & col("o").is_not_null())
        .select(*VALUE, "o")
        .join(unacknowledged.select(*VALUE, "kind", "op", "invoked_ns"), on=VALUE)
        .group_by(*VALUE, "kind", "op", "invoked_ns")
        .agg(col("o").min())
        .select(columns)
    )
    stable = END & ~col("loose")
    of_the_log = [
        observed.filter(~POLL & ~stable).select(columns),
        observed.filter(stable).join(held_back, on="key", how="anti").select(columns),
        placed,
    ]
    of_the_stable = observed.filter(stable).join(held_back, on="key", how="semi").select(columns)
    return pl.concat(
        [
            _contradicted(pl.concat(of_the_log), observed),
            _contradicted(of_the_stable, observed.filter(~col("loose"))),
        ]
    )


def _contradicted(queries: pl.LazyFrame, observed: pl.LazyFrame) -> pl.LazyFrame:
    """Returns the sends and end-offset requests whose offset is below an offset that was observed
    before they began.
    """
    known = observed.select("key", "completed_ns", known=col("reach").cum_max().over("key"))
    name = pl.when(END).then(pl.lit("stale-end-offset")).otherwise(pl.lit("offset-order-inversion"))
    return (
        queries.sort("invoked_ns")
        .join_asof(
            known.set_sorted("completed_ns"),
            left_on="invoked_ns",
            right_on="completed_ns",
            by="key",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(col("known") > col("o"))
        .select(name.alias("name"), "key", "o", "op")
    )


def _log(rows: pl.LazyFrame) -> pl.LazyFrame:
    in_doubt = rows.filter(SEND & (col("outcome") == "info")).select(*VALUE, "op")
    effective = rows.filter(POLL & OK).join(in_doubt, on=VALUE, how="inner").select("op_right")
    effective = effective.unique().rename({"op_right": "op"}).with_columns(effective=True)
    shown = rows.filter(~END).join(effective, on="op", how="left")
    place = pl.when(POLL | OK).then(col("o"))
    by_value = shown.group_by(*VALUE).agg(
        first=place.min(),
        last=place.max(),
        sent=SEND.sum(),
        failed=(SEND & (col("outcome") == "fail")).sum(),
        acknowledged=(SEND & OK).any(),
        committed=(SEND & (OK | col("effective").fill_null(value=False))).any(),
        read=(POLL & OK).any(),
        polled=POLL.any(),
    )
    # evaluated once for the five queries below
    values = by_value.collect(engine="streaming").lazy()
    bounds = values.filter("read").group_by("key").agg(bound=col("first").max())
    by_offset = (
        rows.filter(~END & (POLL | OK) & col("o").is_not_null())
        .group_by("key", "o")
        .agg(least=col("value").min(), most=col("value").max())
        .filter(col("least") != col("most"))
        .select("key", col("o").cast(pl.String).alias("value"))
    )
    found_by = {
        "inconsistent-offsets": by_offset,
        "duplicate": values.filter(col("first") < col("last")),
        "value-nobody-sent": values.filter(col("polled") & (col("sent") == 0)),
        "unseen": values.filter(col("acknowledged") & ~col("read")),
        "G1a": values.filter(col("read") & (col("sent") > 0) & (col("sent") == col("failed"))),
        "lost-write": values.join(bounds, on="key").filter(
            col("committed") & ~col("read") & (col("last") <= col("bound"))
        ),
    }
    return pl.concat(
        [found.select(pl.lit(name).alias("name"), *VALUE) for name, found in found_by.items()]
    )


def _steps(rows: pl.LazyFrame) -> pl.LazyFrame:
    seen = rows.filter(~END & (POLL | OK) & col("o").is_not_null())
    mine = ["process", "kind", "key"]
    steps = (
        seen.select("op", "position", *mine, "o")
        .with_columns(rank=col("o").rank("dense").over("key"))
        .with_columns(
            back=col("o") <= col("o").shift(1).over(mine),
            skip=POLL & (col("rank") > col("rank").shift(1).over(mine) + 1),
            inside=col("op") == col("op").shift(1).over(mine),
        )
        .filter(col("back") | col("skip"))
    )
    kind = pl.when("back").then(pl.concat_str(pl.lit("nonmonotonic-"), "kind"))
    name = pl.concat_str(
        pl.when("inside").then(pl.lit("int-")).otherwise(pl.lit("")),
        kind.otherwise(pl.lit("poll-skip")),
    )
    return steps.select(name.alias("name"), "key", "op", "position")
