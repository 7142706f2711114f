"""Runs the examples of docs/how-to/faults-in-your-tests.md in languages other than Python.

Each example is a program that uses a running broker. It ends with exit code 0 if it saw the effect
of its fault.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkers.testing.broker import Broker
from tools.clients.installed import HERE, Install, go, java, node, rust
from tools.clients.trial import Cell

LIMIT_S: Final = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """An example program of the documentation.

    `language` is the name of its language in a Markdown code block, such as `js`.
    """

    title: str
    client: str
    language: str
    source: Path
    install: Install


EXAMPLES: Final = (
    Example(
        title="Java",
        client="Java client",
        language="java",
        source=HERE / "java" / "Example.java",
        install=java("Example"),
    ),
    Example(
        title="Go",
        client="franz-go",
        language="go",
        source=HERE / "go" / "example" / "main.go",
        install=go("example", "github.com/twmb/franz-go"),
    ),
    Example(
        title="Node",
        client="kafkajs",
        language="js",
        source=HERE / "node" / "example.mjs",
        install=node("example", "kafkajs"),
    ),
    Example(
        title="Rust",
        client="rdkafka",
        language="rust",
        source=HERE / "rust" / "src" / "bin" / "example.rs",
        install=rust("example", "rdkafka"),
    ),
)


def on_page(example: Example) -> str:
    """Returns the Markdown section of faults-in-your-tests.md that contains the program."""
    source = example.source.read_text(encoding="utf-8")
    return f"## {example.title}\n\n```{example.language}\n{source}```\n"


def try_example(broker: Broker, example: Example) -> Cell:
    """Runs an example against the broker, and returns its result.

    If the example failed, the note of the result has the program's errors, or the time limit that
    it exceeded.
    """
    broker.reset()
    call = [*example.install().command, broker.bootstrap_servers, broker.control_url]
    try:
        ended = subprocess.run(call, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return Cell(outcome="failed", note=f"not finished after {LIMIT_S:.0f} s")
    if ended.returncode:
        return Cell(outcome="failed", note=ended.stderr.strip()[-500:])
    return Cell(outcome="passed")
