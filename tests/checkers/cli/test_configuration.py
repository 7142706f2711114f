"""The section `[tool.urteil]` sets options; each mistake in it causes an error of one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkers.cli.configuration import defaults, named_options
from checkers.cli.main import COMMANDS, load


def test_a_key_is_the_long_name_of_an_option(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(
        '[tool.urteil]\nseed = 7\n[tool.urteil.check]\nset = ["replicas=2"]\nproperty = "weak_*"\n'
    )
    output = call("check", "replication")
    (started,) = output.named("run_started")
    (decided,) = output.named("property_decided")
    assert started["seed"] == 7
    assert decided["property"] == "weak_isr"
    assert decided["constants"]["replicas"] == 2
    assert (
        call("check", "--set", "replicas=1").named("property_decided")[0]["constants"]["replicas"]
        == 1
    )  # flags win


def test_a_general_key_applies_to_the_commands_with_that_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("[tool.urteil]\nbudget = '9s'\nlimit_ms = 9\n")
    given = {name: defaults(name, COMMANDS, load) for name in ("check", "prove", "list")}
    assert given == {
        "check": {"budget": "9s"},
        "prove": {"budget": "9s", "limit_ms": 9},
        "list": {},
    }


def test_every_option_that_can_be_typed_can_be_configured() -> None:
    for name in COMMANDS:
        typed = {p for p in load(name).params if p.param_type_name == "option"}
        assert set(named_options(load(name)).values()) == typed


def test_a_configuration_is_read_as_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "größe"\n[tool.urteil]\nseed = 7\n', encoding="utf-8"
    )
    listed = subprocess.run(
        [sys.executable, "-c", "from checkers.cli.main import main; main()", "list"],
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONWARNDEFAULTENCODING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.returncode == 0, listed.stderr
    assert "EncodingWarning" not in listed.stderr  # of a file that is read in the locale's encoding


@pytest.mark.parametrize(
    ("configured", "message"),
    [
        ("[tool.urteil.chekc]\nseed = 1", "[tool.urteil] has no command 'chekc'; the nearest: che"),
        (
            "[tool.urteil.doctor]\nsede = 1",
            "[tool.urteil.doctor] has no option 'sede'; the nearest: seed",
        ),
        ("[tool.urteil]\nsede = 1", "[tool.urteil] has no option 'sede'; the nearest: seed"),
        ("[tool.urteil", "pyproject.toml: cannot be read"),
        ("tool = 3", "pyproject.toml: tool.urteil is not a table: write [tool.urteil]"),
        ("[tool]\nurteil = 3", "pyproject.toml: tool.urteil is not a table: write [tool.urteil]"),
        ("[tool.urteil]\ndoctor = 3", "[tool.urteil] has no option 'doctor'"),
        ("[tool.urteil]\nseed = 'x'", "pyproject.toml, [tool.urteil] seed: 'x' is not a valid int"),
        ("[tool.urteil]\nseed = -1", "pyproject.toml, [tool.urteil] seed: -1 is not in the range"),
        (
            "[tool.urteil]\nseed = [1]",
            "pyproject.toml, [tool.urteil] seed: write one value, not a list",
        ),
    ],
)
def test_a_wrong_configuration_ends_with_one_line_and_exit_code_2(
    configured: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(configured)
    call = [sys.executable, "-c", "from checkers.cli.main import main; main()", "doctor"]
    done = subprocess.run(
        call, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
