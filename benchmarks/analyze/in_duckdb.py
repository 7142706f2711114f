"""The checks `linearizable` and `shared` of the benchmark, as DuckDB queries.

The check `linearizable` runs the first of these queries. The check `shared` runs all three.

- Real-time order: an observation is an offset that a send, poll or end-offset request returned. For
  each send and end-offset request, a window function finds the observations of the same log with a
  higher offset. None of these observations may have completed before the request was invoked.
- Agreement on the log: the records are grouped once by value and once by offset.
- Order within a process: a window function finds the offset of the process's previous step, which
  must be lower. Another window function finds the highest offset of the log below this step's
  offset. If that highest offset is above the previous step's offset, the process skipped a record.
"""

# Real-time order needs one window function and no join: 16 CPU s for ten million rows of 256 keys,
# and 10 CPU s for one key. Two slower queries were tried: an ASOF join of the queries with the
# running maximum by completion time took 21 and 17 CPU s, and an ASOF join by offset 20 and 13.

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb

from benchmarks.analyze.peers import LINEARIZABLE, SHARED, THREADS, Locations, as_locations

HISTORY: Final = """
    CREATE VIEW history AS
    SELECT op, process, f, outcome, position, kind, key, "offset" AS o, value,
           invoked_ns, completed_ns, isolation, kind = 'end_offset' AS is_end
    FROM read_parquet('{folder}/part-*.parquet')
    WHERE kind IN ('send', 'poll', 'end_offset');
"""
REAL_TIME: Final = """
    WITH held_back AS (SELECT DISTINCT key FROM history WHERE f = 'txn' AND kind = 'send'),
    observed AS (
        SELECT key, kind, op, o, invoked_ns, completed_ns, is_end,
               kind = 'send' OR isolation = 'read_uncommitted' AS loose
        FROM history
        WHERE outcome = 'ok' AND completed_ns IS NOT NULL AND o IS NOT NULL),
    unacknowledged AS (
        SELECT op, key, value, invoked_ns FROM history
        WHERE kind = 'send' AND (outcome = 'info' OR outcome = 'ok' AND o IS NULL)),
    placed AS (
        SELECT s.key, s.op, min(p.o) AS o, s.invoked_ns
        FROM history p JOIN unacknowledged s ON p.key = s.key AND p.value = s.value
        WHERE p.kind = 'poll' AND p.outcome = 'ok' AND p.o IS NOT NULL
        GROUP BY s.key, s.op, s.value, s.invoked_ns),
    -- reach: twice the offset; a query sorts after the observations that contradict it
    events AS (
        SELECT key, is_end, op, o, loose, 2 * o + 1 AS reach, completed_ns,
               CASE WHEN NOT is_end THEN completed_ns END AS known,
               CASE WHEN kind = 'poll' AND NOT loose THEN completed_ns END AS stable,
               CASE WHEN kind <> 'poll' THEN invoked_ns END AS query_ns
        FROM observed
        UNION ALL
        SELECT key, is_end, op, o, loose, 2 * o - 1, completed_ns,
               completed_ns, CASE WHEN NOT loose THEN completed_ns END, NULL
        FROM observed WHERE is_end
        UNION ALL
        SELECT key, false, op, o, true, 2 * o + 1, 9223372036854775807, NULL, NULL, invoked_ns
        FROM placed),
    compared AS (
        SELECT key, is_end, op, o, loose, query_ns, min(known) OVER earlier AS known,
               min(stable) OVER earlier AS stable
        FROM events
        WINDOW earlier AS (
            PARTITION BY key ORDER BY reach DESC, completed_ns ROWS UNBOUNDED PRECEDING))
    SELECT CASE WHEN is_end THEN 'stale-end-offset' ELSE 'offset-order-inversion' END, key, o, op
    FROM compared
    WHERE query_ns IS NOT NULL
      AND CASE WHEN is_end AND NOT loose AND key IN (FROM held_back) THEN stable ELSE known END
          < query_ns
"""
LOG: Final = """
    WITH doubtful AS (
        SELECT op, bool_or(read) AS read FROM (
            SELECT s.op, p.value IS NOT NULL AS read
            FROM (FROM history WHERE kind = 'send' AND outcome = 'info') s
            LEFT JOIN (FROM history WHERE kind = 'poll' AND outcome = 'ok') p
            ON s.key = p.key AND s.value = p.value)
        GROUP BY op),
    effective AS (SELECT op FROM doubtful WHERE read),
    by_value AS (
        SELECT key, value,
               min(o) FILTER (kind = 'poll' OR outcome = 'ok') AS first,
               max(o) FILTER (kind = 'poll' OR outcome = 'ok') AS last,
               count(*) FILTER (kind = 'send') AS sent,
               count(*) FILTER (kind = 'send' AND outcome = 'fail') AS failed,
               bool_or(kind = 'send' AND outcome = 'ok') AS acknowledged,
               bool_or(kind = 'send' AND (outcome = 'ok' OR op IN (FROM effective))) AS committed,
               bool_or(kind = 'poll' AND outcome = 'ok') AS read,
               bool_or(kind = 'poll') AS polled
        FROM history WHERE NOT is_end GROUP BY key, value),
    bounds AS (SELECT key, max(first) AS bound FROM by_value WHERE read GROUP BY key),
    by_offset AS (
        SELECT key, o FROM history
        WHERE NOT is_end AND o IS NOT NULL AND (kind = 'poll' OR outcome = 'ok')
        GROUP BY key, o HAVING min(value) <> max(value))
    SELECT 'inconsistent-offsets', key, o::VARCHAR FROM by_offset
    UNION ALL SELECT 'duplicate', key, value FROM by_value WHERE first < last
    UNION ALL SELECT 'value-nobody-sent', key, value FROM by_value WHERE polled AND sent = 0
    UNION ALL SELECT 'unseen', key, value FROM by_value WHERE acknowledged AND NOT read
    UNION ALL SELECT 'G1a', key, value FROM by_value WHERE read AND sent > 0 AND sent = failed
    UNION ALL SELECT 'lost-write', v.key, value FROM by_value v JOIN bounds b ON v.key = b.key
        WHERE committed AND NOT read AND last <= bound
"""
STEPS: Final = """
    WITH seen AS (
        SELECT op, process, position, kind, key, outcome, o FROM history
        WHERE NOT is_end AND o IS NOT NULL AND (kind = 'poll' OR outcome = 'ok')),
    neighbours AS (
        SELECT *, max(o) OVER (
            PARTITION BY key ORDER BY o RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS below
        FROM seen),
    steps AS (
        SELECT *, lag(o) OVER mine AS previous, lag(op) OVER mine = op AS inside
        FROM neighbours
        WINDOW mine AS (PARTITION BY process, kind, key ORDER BY op, position))
    SELECT concat(
               CASE WHEN inside THEN 'int-' ELSE '' END,
               CASE WHEN o <= previous THEN 'nonmonotonic-' || kind ELSE 'poll-skip' END),
           key, op, position
    FROM steps
    WHERE o <= previous OR (kind = 'poll' AND below > previous)
"""


def linearizable(history: Path) -> Locations:
    """Returns the occurrences of each anomaly of LINEARIZABLE, as tuples of fields such as key and
    offset.
    """
    return as_locations(_opened(history).execute(REAL_TIME).fetchall(), LINEARIZABLE)


def everything(history: Path) -> Locations:
    """Returns the occurrences of each anomaly of SHARED, as tuples of fields such as key and
    offset.
    """
    connection = _opened(history)
    rows = [
        row for query in (REAL_TIME, LOG, STEPS) for row in connection.execute(query).fetchall()
    ]
    return as_locations(rows, SHARED)


def _opened(history: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": THREADS})
    connection.execute(HISTORY.format(folder=history))
    return connection
