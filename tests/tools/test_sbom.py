"""`tools.sbom` lists every pinned package that ships with Urteil, with its licence.

Scanners of licences can read the list.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools import sbom
from tools.sbom import UnknownLicence, document, licence_of, shipped

ROOT = Path(__file__).parents[2]
BUILDS_THE_IMAGE = {"hatchling", "pathspec", "pluggy", "tomlkit", "trove-classifiers"}
WRITES_THE_LIST = {
    "cyclonedx-python-lib",
    "boolean-py",
    "defusedxml",
    "license-expression",
    "packageurl-python",
    "py-serializable",
}


def pins(name: str) -> dict[str, str]:
    """Returns the versions in a file of requirements for this Python and system, by package."""
    lines = (ROOT / name).read_text().splitlines()
    found = [Requirement(line.rstrip(" \\")) for line in lines if re.match(r"[a-z]", line)]
    return {
        it.name: str(it.specifier).removeprefix("==")
        for it in found
        if it.marker is None or it.marker.evaluate()
    }


def test_what_ships_is_what_the_image_installs_without_the_tools_that_build_it() -> None:
    everything = {it.name: it.version for it in shipped(["connect", "postgres"])}
    del everything["urteil"]
    built_with = BUILDS_THE_IMAGE | WRITES_THE_LIST | {"packaging"}
    image = pins("requirements-image.txt")
    assert everything == {k: v for k, v in image.items() if k not in built_with}


def test_the_image_has_the_versions_that_the_tests_run_with() -> None:
    assert pins("requirements-image.txt").items() <= pins("requirements.txt").items()


def test_the_document_has_a_licence_and_the_dependencies_of_each_package() -> None:
    listed = json.loads(document(shipped()))
    assert listed["bomFormat"] == "CycloneDX"
    assert listed["metadata"]["component"]["name"] == "urteil"
    packages = {it["name"]: it for it in listed["components"]}
    assert all(it["licenses"] and it["purl"].startswith("pkg:pypi/") for it in packages.values())
    assert packages["crc32c"]["licenses"] == [{"expression": "LGPL-2.1-or-later"}]
    needs = {it["ref"]: it.get("dependsOn", []) for it in listed["dependencies"]}
    (kio,) = (needs[ref] for ref in needs if ref.startswith("kio@"))
    assert any(ref.startswith("crc32c@") for ref in kio)
    assert "grpcio" not in packages  # only the extra `connect` needs it


def test_a_package_without_a_licence_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = tmp_path / "secret-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: secret\nVersion: 1.0\nLicense: ask us\n"
    )
    nameless = Distribution.at(facts)
    with pytest.raises(UnknownLicence, match=r"secret 1\.0 names no licence .*'ask us'"):
        licence_of(nameless)
    monkeypatch.setattr(sbom, "distributions", lambda: [nameless])
    assert sbom.main(["--all"]) == 2
    assert capsys.readouterr().err.endswith("add it to LICENCES\n")


def test_the_image_is_built_from_files_that_exist_and_from_nothing_else() -> None:
    ignored, *kept = (ROOT / ".dockerignore").read_text().splitlines()
    names = [name.removeprefix("!") for name in kept if name.startswith("!")]
    assert ignored == "*"
    assert {"requirements-image.txt", "model", "checkers", "tools/sbom.py"} <= set(names)
    for name in names:
        assert (ROOT / name).exists(), name
    recipe = (ROOT / "Containerfile").read_text()
    for name in re.findall(r"^COPY (?!--from)(\S+)", recipe, re.MULTILINE):
        assert name == "." or name in names
