"""Prepares the storage of new nodes. Kafka's own tool formats the storage of one node, and this
module copies it for every other node.

A run of Kafka's tool takes seconds, so the tool runs one time for a cluster.

Source: StorageTool of Kafka 4.3.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from checkers.systems.system import SystemFailed

CLUSTER_ID: Final = "dXJ0ZWlsLWFwYWNoZS1rYQ"  # 16 bytes in URL-safe Base64
META: Final = "meta.properties"
_NODE: Final = re.compile(r"^node\.id=.*$", re.MULTILINE)
_DIRECTORY: Final = re.compile(r"^directory\.id=.*$", re.MULTILINE)
_EXCEPTION: Final = re.compile(r"(Exception|Error): ")
_KEPT: Final = (META, "bootstrap.checkpoint", "__cluster_metadata-0")


def format_first(java: Sequence[str], properties: Path, features: Mapping[str, int]) -> None:
    """Formats the storage that the properties file describes. Raises SystemFailed if Kafka's tool
    rejects the settings.
    """
    call = [*java, "kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID]
    call += ["--config", str(properties)]
    for name, level in features.items():
        call += ["--feature", f"{name}={level}"]
    ended = subprocess.run(call, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemFailed(
            f"{properties}: Kafka cannot format the storage for these settings; "
            f"correct the one that it names: {_reason(ended.stdout + ended.stderr)}"
        )


def _reason(output: str) -> str:
    """Returns the line of the tool's output that has the reason of its failure. This is the first
    line that names an exception, or the last line if no line names one.

    The other lines of the output are settings and a stack trace.
    """
    lines = [line for line in output.splitlines() if line.strip()] or ["no output"]
    return next((line for line in lines if _EXCEPTION.search(line)), lines[-1])


def copy_to(formatted: Path, others: Iterable[tuple[int, Path]]) -> None:
    """Copies a formatted folder for other nodes. Each element of `others` has the number of a node
    and its new folder.
    """
    for node, folder in others:
        shutil.copytree(formatted, folder)
        meta = folder / META
        text = _NODE.sub(f"node.id={node}", meta.read_text(encoding="utf-8"))
        meta.write_text(_DIRECTORY.sub(f"directory.id={_directory_id()}", text), encoding="utf-8")


def add_disk(formatted: Path, folder: Path) -> None:
    """Adds an empty log directory to a node: creates `folder`, with its own directory id.
    `formatted` is the first log directory of the node.
    """
    folder.mkdir()
    text = (formatted / META).read_text(encoding="utf-8")
    (folder / META).write_text(
        _DIRECTORY.sub(f"directory.id={_directory_id()}", text), encoding="utf-8"
    )


def wipe(folder: Path) -> None:
    """Deletes all replicas and checkpoints in the folder. The folder remains formatted."""
    for entry in folder.iterdir():
        if entry.name in _KEPT:
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _directory_id() -> str:
    return urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
