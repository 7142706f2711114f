"""The lines in the log files of brokers and controllers.

Log4j2 writes the files with the layout `%nano %p %c{1} [%t] %m%n`. The value of `%nano` is a
monotonic clock that all processes of a machine share, so the lines of several nodes can be ordered.
All lines of a file come from one node. The first line that names a node identifies this node. A
line without this layout, for example in a stack trace, is skipped.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model.faults import InputFault

LAYOUT: Final = "%nano %p %c{1} [%t] %m%n"
_LINE: Final = re.compile(r"(\d+) ([A-Z]+) ([\w.$]+) \[(.*?)\] (.*)")
_NODE: Final = re.compile(
    r"\bbroker=(\d+)\]|\[Broker id=(\d+)\]|\[ReplicaFetcher replicaId=(\d+),"
    r"|\[QuorumController id=(\d+)\]|\[kafka-(\d+)-|\[quorum-controller-(\d+)-"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of a log file. `number` is the line's number in the file. The first line has
    number 1.
    """

    at_ns: int
    node: int
    logger: str
    thread: str
    message: str
    file: str
    number: int

    @property
    def place(self) -> str:
        return f"{self.file}:{self.number}"


def log_lines(files: Iterable[Path]) -> Iterator[LogLine]:
    """Yields all lines that have the layout of this module, one file after another.

    Raises InputFault if a file is unreadable. Also raises InputFault if a file has lines, but none
    with this layout, or none that names the node. An empty file is not an error.
    """
    for file in files:
        # Files with names in `.gz` are unpacked. An empty file has no lines, and is no fault.
        yield from _lines_of(file)


def _lines_of(file: Path) -> Iterator[LogLine]:
    node, is_empty, has_layout = _node_of(file), True, False
    for number, text in enumerate(_raw(file), 1):
        is_empty = False
        match = _LINE.match(text)
        if match is None:
            continue
        has_layout = True
        if node is None:
            break
        yield LogLine(
            at_ns=int(match[1]),
            node=node,
            logger=match[3].rpartition(".")[2],
            thread=match[4],
            message=match[5],
            file=str(file),
            number=number,
        )
    if not is_empty and not has_layout:
        raise InputFault(
            f"{file}: no line has the layout {LAYOUT}: set it in the log4j2 configuration of every"
            " node (docs/how-to/trace-a-broker.md)"
        )
    if has_layout and node is None:
        raise InputFault(
            f"{file}: no line names the node that wrote it: set the loggers of"
            " docs/how-to/trace-a-broker.md to TRACE, and write one file for each node"
        )


def _node_of(file: Path) -> int | None:
    for text in _raw(file):
        match = _NODE.search(text)
        if match is not None:
            return int(next(group for group in match.groups() if group is not None))
    return None


def _raw(file: Path) -> Iterator[str]:
    opening = gzip.open if file.suffix == ".gz" else open
    try:
        with opening(file, "rt", errors="replace") as lines:
            for text in lines:
                yield text.rstrip("\n")
    except (OSError, EOFError) as why:
        reason = getattr(why, "strerror", None) or why
        raise InputFault(f"{file}: {reason}; name the TRACE log files of brokers") from why
