"""Lists the packages that ship with Urteil, with their licences, as a CycloneDX document.

    python -m tools.sbom                      # what `pip install urteil` brings, on standard output
    python -m tools.sbom --extra postgres     # with the packages of an extra; may be repeated
    python -m tools.sbom --all                # every package of this environment, as in the image

The versions are those that are installed in this Python environment. Scanners of licences or of
vulnerabilities can read the document.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from typing import Final

from cyclonedx.contrib.license.exceptions import InvalidLicenseExpressionException
from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OURS: Final = "urteil"

# SPDX expressions of packages whose metadata has none
LICENCES: Final[Mapping[str, str]] = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only WITH Classpath-exception-2.0",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.1-or-later",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


class UnknownLicence(Exception):
    """Raised if a package names no licence, or only licences that `LICENCES` does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An installed package. `needs` has the names of the packages that it requires directly."""

    name: str
    version: str
    licence: str
    about: str
    needs: frozenset[str]


def shipped(extras: Iterable[str] = ()) -> tuple[Package, ...]:
    """Returns Urteil and all packages that it needs, sorted by name.

    Raises PackageNotFoundError if one of the packages is not installed.
    """
    found: dict[str, Package] = {}
    waiting = [(OURS, frozenset(extras))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, chosen = waiting.pop()
        if (name, chosen) in seen:
            continue
        seen.add((name, chosen))
        installed = distribution(name)
        needed = list(_required(installed, chosen))
        waiting.extend(needed)
        before = found[name].needs if name in found else frozenset[str]()
        found[name] = _package(installed, before | {other for other, _ in needed})
    return tuple(found[name] for name in sorted(found))


def installed_here() -> tuple[Package, ...]:
    """Returns every package of this environment, sorted by name."""
    everything = {canonicalize_name(it.name): it for it in distributions()}
    return tuple(
        _package(it, {name for name, _ in _required(it, frozenset()) if name in everything})
        for _, it in sorted(everything.items())
    )


def document(packages: Sequence[Package]) -> str:
    """Returns a CycloneDX document of the packages, version 1.6, in JSON."""
    licences = LicenseFactory()
    components = {
        it.name: Component(
            name=it.name,
            version=it.version,
            type=ComponentType.APPLICATION if it.name == OURS else ComponentType.LIBRARY,
            description=it.about,
            licenses=[licences.make_with_expression(it.licence)],
            purl=PackageURL("pypi", name=it.name, version=it.version),
            bom_ref=f"{it.name}@{it.version}",
        )
        for it in packages
    }
    bom = Bom(components=[it for name, it in components.items() if name != OURS])
    bom.metadata.component = components[OURS]
    for it in packages:
        bom.register_dependency(components[it.name], [components[name] for name in it.needs])
    return str(JsonV1Dot6(bom).output_as_string(indent=2))


def licence_of(installed: Distribution) -> str:
    """Returns the licence of a package as an SPDX expression. Raises UnknownLicence if there is
    none.
    """
    facts = installed.metadata
    texts = [
        *facts.get_all("License-Expression", []),
        *(c.split(" :: ")[-1] for c in facts.get_all("Classifier", []) if c.startswith("License")),
        *facts.get_all("License", []),
    ]
    spdx = LicenseFactory()
    for text in texts:
        try:
            return spdx.make_with_expression(LICENCES.get(text, text)).value
        except InvalidLicenseExpressionException:  # words, such as the text of the licence
            continue
    raise UnknownLicence(
        f"{installed.name} {installed.version} names no licence that tools/sbom.py knows: "
        f"{[text[:40] for text in texts]}; add it to LICENCES"
    )


def _required(
    installed: Distribution, extras: frozenset[str]
) -> Iterable[tuple[str, frozenset[str]]]:
    for text in installed.requires or ():
        it = Requirement(text)
        if it.marker is None or any(it.marker.evaluate({"extra": e}) for e in extras | {""}):
            yield canonicalize_name(it.name), frozenset(it.extras)


def _package(installed: Distribution, needs: Iterable[str]) -> Package:
    return Package(
        name=canonicalize_name(installed.name),
        version=installed.version,
        licence=licence_of(installed),
        about=next(iter(installed.metadata.get_all("Summary", [])), ""),
        needs=frozenset(needs) - {canonicalize_name(installed.name)},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extra", action="append", default=[], help="an extra of pyproject.toml")
    parser.add_argument("--all", action="store_true", help="every package of this environment")
    options = parser.parse_args(arguments)
    try:
        packages = installed_here() if options.all else shipped(options.extra)
    except PackageNotFoundError as missing:
        sys.stderr.write(f"{missing.name} is not installed here; install it, then run this again\n")
        return 2
    except UnknownLicence as unknown:
        sys.stderr.write(f"{unknown}\n")
        return 2
    sys.stdout.write(document(packages) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
