"""The installed wheel works without the repository, even if other packages have the same names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "tests/data/jepsen/004-same-offset.edn"
HOSTILE = "raise RuntimeError('imported from the user\\'s folder')\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installs the wheel in a new environment; returns the path of its console script."""
    made = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made), cwd=ROOT)
    (wheel,) = made.glob("*.whl")
    environment = made / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", str(environment), cwd=made)
    python = environment / "bin/python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--no-deps",
        "--no-index",
        str(wheel),
        cwd=made,
    )
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment / "bin/urteil"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    for name in ("model", "reference_impl", "properties", "checkers", "tests"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(HOSTILE)
    return tmp_path


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SPARK", "PYTEST"))}
    done = subprocess.run(
        words, cwd=cwd, env=clean, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done


def decided(done: subprocess.CompletedProcess[str], key: str) -> dict[str, str]:
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return {e[key]: e["verdict"] for e in events if key in e and "verdict" in e}


def test_the_wheel_holds_our_packages_and_nothing_else(installed: Path) -> None:
    (packages,) = installed.parent.parent.glob("lib/python*/site-packages")
    found = {p.name for p in packages.iterdir() if p.is_dir() and "dist-info" not in p.name}
    assert found == {"model", "reference_impl", "properties", "checkers"}


def test_the_wheel_has_the_page_of_the_explorer(installed: Path) -> None:
    (page,) = installed.parent.parent.glob("lib/python*/site-packages/checkers/explore/page")
    assert {"index.html", "page.css", "page.js", "picture.js"} <= {p.name for p in page.iterdir()}


def test_the_wheel_publishes_the_pytest_plugin(installed: Path) -> None:
    (points,) = installed.parent.parent.glob(
        "lib/python*/site-packages/urteil-*.dist-info/entry_points.txt"
    )
    assert "[pytest11]\nurteil = checkers.testing.plugin" in points.read_text()


def test_the_installed_wheel_checks_a_spec(installed: Path, hostile: Path) -> None:
    words = ["check", "replication", "--variant", "truncate-to-hw", "--set", "replicas=2", "--json"]
    done = run(str(installed), *words, cwd=hostile)
    assert decided(done, "property")["weak_isr"] == "violated"


def test_the_installed_wheel_runs_a_suite(installed: Path, hostile: Path) -> None:
    done = run(str(installed), "test", "replication", "--bug", "no-dedup", "--json", cwd=hostile)
    assert decided(done, "property")["exactly_once_publish"] == "violated"


def test_the_installed_wheel_analyzes_on_spark(installed: Path, hostile: Path) -> None:
    (hostile / "history.edn").write_text(SAMPLE.read_text())
    done = run(str(installed), "analyze", "history.edn", "--json", cwd=hostile)
    found = decided(done, "anomaly")
    assert found["inconsistent-offsets"] == "violated"
    assert found["lost-write"] == "holds"
    (report,) = hostile.glob("runs/*/report.html")
    assert "An offset of a log identifies one record forever." in report.read_text()
