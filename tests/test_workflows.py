"""Every command of the workflows exists: scripts, targets of the Makefile, variables, paths."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
CAMPAIGN = "${{ matrix.campaign }}"
WRITTEN = ("runs/", "benchmarks/results/", ".hypothesis/")  # folders that commands write


def steps(file: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yields each step of a workflow, with its job."""
    for job in yaml.safe_load(file.read_text())["jobs"].values():
        for step in job["steps"]:
            yield job, step


def lines(file: Path) -> Iterator[str]:
    """Yields each command of a workflow. If a job runs a command once for each of several
    campaigns, yields the command for each campaign.
    """
    for job, step in steps(file):
        for line in step.get("run", "").splitlines():
            matrix = job.get("strategy", {}).get("matrix", {})
            for campaign in matrix.get("campaign", [""]) if CAMPAIGN in line else [""]:
                yield line.replace(CAMPAIGN, campaign)


def faults(line: str) -> Iterator[str]:
    """Yields what a command needs and the repository lacks."""
    words = shlex.split(re.sub(r"\$\{\{.*?\}\}", "main", line))
    if words[0] == "make":
        target, *settings = words[1:]
        if not re.search(rf"^{re.escape(target)}:", MAKEFILE, re.MULTILINE):
            yield f"no target {target}"
        for setting in settings:
            name = setting.partition("=")[0]
            if not re.search(rf"^{name} := |\$\({name}\)", MAKEFILE, re.MULTILINE):
                yield f"the Makefile has no variable {name}"
    elif "bash" in words:
        script = words[words.index("bash") + 1]
        if not (ROOT / script).is_file():
            yield f"no script {script}"
    elif words[:2] != ["sudo", "apt-get"]:
        yield f"an unknown command: {line}"


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_command_of_a_workflow_exists(file: Path) -> None:
    found = [*lines(file)]
    assert found
    assert [fault for line in found for fault in faults(line)] == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("make fuzz-historys", "no target fuzz-historys"),
        ("make hunt HUNT_SECOND=5", "the Makefile has no variable HUNT_SECOND"),
        ("sudo bash .ci/runs", "no script .ci/runs"),
        ("curl example.org", "an unknown command: curl example.org"),
    ],
)
def test_a_command_that_does_not_exist_is_found(line: str, fault: str) -> None:
    assert [*faults(line)] == [fault]


def started(targets: Iterable[str]) -> tuple[int, str]:
    """Returns the exit status and the errors of a dry run of Make."""
    made = subprocess.run(
        ["make", "--dry-run", "--always-make", "--keep-going", *targets],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "MAKEFLAGS"},
        capture_output=True,
        text=True,
        check=False,
    )
    return made.returncode, made.stderr


def test_every_target_of_a_workflow_can_start() -> None:
    targets = {line.split()[1] for file in WORKFLOWS for line in lines(file) if "make " in line}
    assert targets
    status, errors = started(sorted(targets))
    assert status == 0, errors


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_target_that_does_not_exist_cannot_start(position: int) -> None:
    targets = ["lint", "test"]
    targets.insert(position, "no-such-target")
    status, errors = started(targets)
    assert status == 2
    assert "No rule to make target 'no-such-target'" in errors


UPLOADED = [
    pytest.param(path, id=f"{file.stem}-{path}")
    for file in WORKFLOWS
    for _, step in steps(file)
    if "upload-artifact" in step.get("uses", "")
    for path in step["with"]["path"].split()
]


@pytest.mark.parametrize("path", UPLOADED)
def test_an_artifact_is_a_folder_that_commands_write_or_that_exists(path: str) -> None:
    assert path in WRITTEN or any(ROOT.glob(path))


def test_there_are_workflows_and_artifacts() -> None:
    assert WORKFLOWS
    assert UPLOADED
