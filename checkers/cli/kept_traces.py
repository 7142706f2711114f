"""Writes traces to the run folder, and emits for each trace the command that opens it in
`urteil explore`.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from checkers.cli.run import Run
from checkers.events import TraceKept

if TYPE_CHECKING:
    from checkers.report.explained_trace import ExplainedTrace


def keep_trace(run: Run, about: str, trace: ExplainedTrace, prefix: str = "") -> str | None:
    """Writes the trace to the run folder, and returns the command that opens it. Returns None if
    the run has no folder.

    `about` names the subject of the trace: a property, a partition or a transactional id.
    """
    from checkers.report.explained_trace import SUFFIX, written

    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{prefix}{trace.subject}-{trace.spec}")
    file = run.written(f"{plain}{SUFFIX}", written(trace))
    if file is None or run.folder is None:
        return None
    opening = f"urteil explore {shlex.quote(str(run.folder.path / file))}"
    run.emit(
        TraceKept(about=about, spec=trace.spec, file=file, command=opening, summary=_summary(trace))
    )
    return opening


def _summary(trace: ExplainedTrace) -> str:
    explained, forbidden = f"{len(trace.lines):,} lines explained", trace.refused
    if forbidden is None:
        return f"{explained}, no line left"
    return f"{explained}, then {forbidden.place} is no step of the spec: {forbidden.why}"
