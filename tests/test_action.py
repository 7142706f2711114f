"""The GitHub action and the workflow are valid YAML. Their commands exist and run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from hypothesis import settings

from checkers.cli.main import load

ROOT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
(RUN,) = [step for step in ACTION["runs"]["steps"] if step.get("id") == "run"]


(COMPARE,) = [step for step in ACTION["runs"]["steps"] if step.get("id") == "compare"]
CI = ROOT / "docs" / "how-to" / "ci"
URTEIL = re.compile(r"(?:^|[\s'/\"])urteil (\w+ [^|>'\n]*)")


def run_step(
    folder: Path, command: str, arguments: str, *, baseline: str = "", step: Any = RUN
) -> tuple[int, str]:
    """Runs a script of the GitHub action; returns its exit code and its output.

    The output is the text of the file GITHUB_OUTPUT, or the standard output if this file is empty.
    """
    installed = folder / "urteil" / "bin"
    if not installed.exists():
        installed.mkdir(parents=True)
        (installed / "python").symlink_to(sys.executable)
        (installed / "urteil").symlink_to(Path(sys.executable).with_name("urteil"))
    output = folder / "output"
    ran = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={
            **os.environ,
            "RUNNER_TEMP": str(folder),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "COMMAND": command,
            "ARGUMENTS": arguments,
            "BASELINE": baseline,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, output.read_text() if output.exists() else ran.stdout


def test_inputs_that_the_steps_use_are_declared() -> None:
    text = (ROOT / "action.yml").read_text()
    for name in ACTION["inputs"]:
        assert f"inputs.{name}" in text


@pytest.mark.parametrize("name", ["check", "test", "analyze"])
def test_each_command_has_the_options_that_the_action_gives(name: str) -> None:
    options = {option for p in load(name).params for option in p.opts}
    assert {"--github", "--out", "--junit", "--sarif"} <= options


def test_a_violation_fails_the_step_and_leaves_its_files(tmp_path: Path) -> None:
    code, output = run_step(
        tmp_path, "check", "replication --variant truncate-to-hw --set replicas=2"
    )
    assert code == 1
    assert output == "exit-code=1\n"
    assert (tmp_path / "urteil.xml").exists()
    assert (tmp_path / "urteil.sarif").exists()
    assert "weak_isr" in (tmp_path / "summary.md").read_text()
    assert list(tmp_path.glob("urteil-runs/*/report.html"))
    assert run_step(tmp_path, "", "", step=COMPARE)[0] == 0  # there is no earlier run
    assert "Against the run before" not in (tmp_path / "urteil-summary.md").read_text()

    known = subprocess.run(
        ["urteil/bin/urteil", "baseline", "last", "--out", "urteil-runs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (tmp_path / "known.toml").write_text(known)
    code, _ = run_step(
        tmp_path,
        "check",
        "replication --variant truncate-to-hw --set replicas=2",
        baseline="known.toml",
    )
    assert code == 0
    assert run_step(tmp_path, "", "", step=COMPARE)[0] == 0
    comment = (tmp_path / "urteil-summary.md").read_text()
    assert "Against the baseline <code>known.toml</code>" in comment
    assert "violated → known" in comment


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", []),
        ("log --set replicas=2", ["log", "--set", "replicas=2"]),
        (
            """check --take 'become_*=4' "two words" it\\'s\n  ''""",
            ["check", "--take", "become_*=4", "two words", "it's", ""],
        ),
        ("* $HOME `id` $(id) a;id", ["*", "$HOME", "`id`", "$(id)", "a;id"]),
    ],
)
def test_arguments_are_split_as_by_a_shell_and_not_expanded(
    tmp_path: Path, arguments: str, words: list[str]
) -> None:
    installed = tmp_path / "urteil" / "bin"
    installed.mkdir(parents=True)
    (installed / "python").symlink_to(sys.executable)
    (installed / "urteil").write_text('#!/bin/sh\nprintf "%s\\n" "$@" > words\n')
    (installed / "urteil").chmod(0o755)
    code, _ = run_step(tmp_path, "test", arguments)
    assert code == 0
    passed = (tmp_path / "words").read_text().splitlines()
    assert passed[: passed.index("--github")] == ["test", *words]


@pytest.mark.parametrize("arguments", ["log --set 'replicas=2", "log \\"])
def test_arguments_that_end_inside_a_quote_are_refused_with_a_message(
    tmp_path: Path, arguments: str
) -> None:
    code, printed = run_step(tmp_path, "test", arguments)
    assert code == 2
    assert printed == (
        "::error::urteil: the input arguments ends inside a quote or after a backslash\n"
    )


def test_another_command_is_refused_with_a_message(tmp_path: Path) -> None:
    code, printed = run_step(tmp_path, "broker", "")
    assert code == 2
    assert printed == "::error::urteil: command is 'broker', not check, test or analyze\n"


def test_the_workflow_runs_the_ci_script_and_nothing_weaker() -> None:
    assert WORKFLOW["jobs"].keys() == {"ci", "workflows"}
    steps = WORKFLOW["jobs"]["ci"]["steps"]
    lines = [step["run"] for step in steps if "run" in step]
    assert len(lines) == 1
    assert lines[0].endswith("bash .ci/run")


def test_every_night_the_ci_script_tries_new_examples() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())["jobs"]
    last = jobs["examples"]["steps"][-1]
    assert last["run"].endswith("bash .ci/run")
    assert last["env"]["PYTEST_ADDOPTS"] == "--hypothesis-profile=random"
    options = last["run"].split()[1].removeprefix("--preserve-env=").split(",")
    assert {*last["env"]} <= {*options}
    assert settings.get_profile("repeatable").derandomize
    assert not settings.get_profile("random").derandomize


def test_every_nightly_campaign_is_a_target_of_the_makefile() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())["jobs"]
    campaigns = jobs["campaign"]["strategy"]["matrix"]["campaign"]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {campaign.split()[0] for campaign in campaigns} <= targets


def test_a_pull_request_is_tried_with_mutants_of_its_lines() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "mutants.yml").read_text())["jobs"]
    checkout, *_, last = jobs["mutants"]["steps"]
    assert checkout["with"]["fetch-depth"] == 0
    target, *settings = last["run"].split(maxsplit=2)[1:]
    makefile = (ROOT / "Makefile").read_text()
    assert f"\n{target}: " in makefile
    for name in re.findall(r"([A-Z_]+)=", " ".join(settings)):
        assert f"\n{name} := " in makefile


def test_the_examples_of_other_ci_systems_run_a_suite_keep_histories_and_comment() -> None:
    github = yaml.safe_load((CI / "github.yml").read_text())
    (job,) = github["jobs"].values()
    assert job["services"]["kafka"]["image"].startswith("apache/kafka:")
    (action,) = [step for step in job["steps"] if "urteil@" in step.get("uses", "")]
    assert action["with"].keys() <= ACTION["inputs"].keys()
    parse(f"{action['with']['command']} {action['with']['arguments']}")
    (comment,) = [step for step in job["steps"] if "gh pr comment" in step.get("run", "")]
    assert "urteil-summary.md" in comment["run"]

    (gitlab,) = yaml.safe_load((CI / "gitlab-ci.yml").read_text()).values()
    lines = [*gitlab["script"], *gitlab["after_script"]]
    assert [command_of(line) for line in lines] == ["test", "diff", None]
    assert "notes" in lines[-1]
    assert {"runs/", "summary.md"} <= {*gitlab["artifacts"]["paths"]}

    jenkins = (CI / "Jenkinsfile").read_text()
    assert jenkins.count("{") == jenkins.count("}")
    assert [name for line in jenkins_shell() if (name := command_of(line))] == ["test", "diff"]
    assert "archiveArtifacts artifacts: 'runs/**, summary.md" in jenkins
    assert re.search(r"publishChecks .*text: readFile\('summary.md'\)", jenkins)


@pytest.mark.parametrize("system", ["gitlab", "jenkins"])
def test_the_comments_of_other_ci_systems_compare_with_baseline_and_run_before(
    tmp_path: Path, system: str
) -> None:
    if system == "gitlab":
        (gitlab,) = yaml.safe_load((CI / "gitlab-ci.yml").read_text()).values()
        before: list[str] = []
        (judge,), [comment, post] = gitlab["script"], gitlab["after_script"]
    else:
        _, _, *before, judge, comment = jenkins_shell()
        post = ""
    tools = tmp_path / ".urteil" / "bin"
    tools.mkdir(parents=True)
    (tools / "urteil").symlink_to(Path(sys.executable).with_name("urteil"))
    (tools / "curl").write_text('#!/bin/sh\nprintf "%s\\n" "$@" > posted\n')
    (tools / "curl").chmod(0o755)
    # a check takes the place of the suite, which needs a broker
    on = re.compile(r'test log --on (kafka:9092|"\$BOOTSTRAP")')
    judge, count = on.subn("check replication --variant truncate-to-hw --set replicas=2", judge)
    assert count == 1

    def comment_of_a_run() -> tuple[int, str]:
        for script in before:
            ran(script)
        code = ran(judge)
        assert [ran(comment), ran(post)] == [0, 0]
        return code, (tmp_path / "summary.md").read_text()

    def ran(script: str) -> int:
        path = {"PATH": f"{tools}:{os.environ['PATH']}", "CI_MERGE_REQUEST_IID": "7"}
        return subprocess.run(
            ["sh", "-ec", script], cwd=tmp_path, env={**os.environ, **path}, check=False
        ).returncode

    (tmp_path / "baseline.toml").write_text("")
    code, first = comment_of_a_run()
    assert code == 1
    assert "Against the baseline <code>baseline.toml</code>" in first
    assert "2 new" in first
    assert "Against the run before" not in first  # there is none

    ran(".urteil/bin/urteil baseline last > known.toml; mv known.toml baseline.toml")
    if system == "gitlab":  # each job has a folder of its own
        (tmp_path / "summary.md").unlink()
    code, second = comment_of_a_run()
    assert code == 0
    assert "2 known" in second
    assert "2 new" not in second
    assert "violated → known" in second.partition("Against the run before:")[2]
    if system == "gitlab":
        assert "body@summary.md" in (tmp_path / "posted").read_text().splitlines()

    (tmp_path / "summary.md").unlink()
    (tmp_path / "baseline.toml").write_text("known = 1")
    code, third = comment_of_a_run()
    assert code == 2
    assert third.startswith("No verdict: see the log of the ")


def jenkins_shell() -> list[str]:
    """Returns the shell scripts of the Jenkinsfile, in the order of the file."""
    found = re.findall(
        r"sh '{3}(.*?)'{3}|sh '([^']+)'", (CI / "Jenkinsfile").read_text(), re.DOTALL
    )
    return [long or short for long, short in found]


@pytest.mark.parametrize("line", ["urteil tset log", "urteil test log --onn kafka:9092"])
def test_a_misspelt_line_of_an_example_would_be_found(line: str) -> None:
    with pytest.raises((click.ClickException, ModuleNotFoundError)):
        command_of(line)


def command_of(line: str) -> str | None:
    """Returns the command of a line that runs urteil, and checks its options. Returns None for any
    other line.
    """
    found = URTEIL.search(line)
    return parse(found[1]) if found and not line.startswith("pip") else None


def parse(line: str) -> str:
    name, *words = shlex.split(line)
    command = load(name)
    command.make_parser(click.Context(command)).parse_args(list(words))
    return name
