"""`urteil check --kafka RELEASE`: finds the claims that do not hold in a release of Kafka, and
checks their fixes.

For each spec, these variants are explored:

- The version of the spec that models the release. If no counterexample of the version is recorded,
  the version is explored with the constants of its definition. Otherwise it is explored with the
  default constants. If this exploration does not violate the claim of the counterexample, the
  version is explored again with the constants of the counterexample.
- Each bug that the release has, with the constants of the bug's recorded counterexample.
- For each violated claim, the variant with the fix, with the constants of the violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from checkers.cli import selection
from checkers.cli.exploring import check
from checkers.cli.run import Run
from checkers.cli.search_options import SearchOptions
from checkers.events import ReleaseDecided
from checkers.verdicts import Verdict
from model.shipped import NotShipped, Shipped, fix_of, shipped, why_without_version
from model.specs import SPECS, find
from model.variants import Variant

if TYPE_CHECKING:
    from checkers.explicit.exploration import Discovery
    from model.language.spec import Spec

EVERY = ""  # instead of a spec: all specs


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOptions:
    """The options of `urteil check --kafka RELEASE`.

    If `recorded_only` is True and a version of a spec is known to break a claim, no other claim is
    checked in this version.
    """

    patterns: Sequence[str] = ()
    settings: Mapping[str, int | bool] | None = None
    budget: str | None = None
    search: SearchOptions | None = None
    recorded_only: bool = False


def check_release(run: Run, spec: str, release: str, options: ReleaseOptions) -> None:
    """Checks the claims of a spec with the rules of a release of Kafka, and emits a verdict for
    each claim. If `spec` is `EVERY`, checks the claims of all specs.

    If a spec has no version that models the release, there are no verdicts on its claims. With
    `EVERY`, the reason is emitted instead. With a single spec, NotShipped is raised. Raises
    UnknownName if a pattern matches no claim of the single spec.
    """
    if spec != EVERY:
        chosen = shipped(spec, release)
        made = chosen.version.make(options.settings)
        selection.properties(made, options.patterns, f"{spec} {chosen.version.name}")
        _check(run, chosen, options)
        return
    for name in SPECS:
        try:
            found = shipped(name, release)
        except NotShipped:
            why = why_without_version(name, release)
            run.emit(ReleaseDecided(release=release, spec=name, reason=why))
        else:
            _check(run, found, options)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Explored:
    variant: Variant
    constants: Mapping[str, int | bool]
    found: Mapping[str, Discovery]

    @property
    def violated(self) -> list[str]:
        return [name for name, one in self.found.items() if one.verdict == "violated"]


def _check(run: Run, found: Shipped, options: ReleaseOptions) -> None:
    selection.note_releases(run, found.version)
    for bug in found.uncertain:
        run.note(f"not known whether Kafka {found.release} has {bug.name}: {bug.in_force}")
    rows: dict[str, list[ReleaseDecided]] = {}
    for explored in _explorations(run, found, options):
        fixed = _fixes(run, explored, options)
        for claim, one in explored.found.items():
            fix, verdict = fixed.get(claim, (None, None))
            row = ReleaseDecided(
                release=found.release,
                spec=found.spec,
                claim=claim,
                variant=explored.variant.name,
                verdict=one.verdict,
                steps=one.steps if one.verdict == "violated" else None,
                fixed_by=fix,
                fixed_verdict=verdict,
            )
            rows.setdefault(claim, []).append(row)
    for row in (row for of_claim in rows.values() for row in _decisive(of_claim)):
        run.emit(row)


def _decisive(rows: Sequence[ReleaseDecided]) -> list[ReleaseDecided]:
    """Returns the decisive rows of one claim: for each variant that violates the claim, the first
    violation. If no variant violates the claim, returns the first row.
    """
    violated = {row.variant: row for row in reversed(rows) if row.verdict == "violated"}
    return list(reversed(violated.values())) or [rows[0]]


def _explorations(run: Run, found: Shipped, options: ReleaseOptions) -> Iterator[_Explored]:
    version, settings = found.version, dict(options.settings or {})
    if version.breaks is None or not options.recorded_only:
        at = version.at if version.breaks is None else {}  # its default constants may be too large
        first = _explore(run, version, {**at, **settings}, options)
        yield from first
        known = {name for one in first for name in one.violated}
    else:
        known = set[str]()
    rows = [] if version.breaks is None or version.breaks in known else [version]
    for row in (*rows, *found.bugs):
        yield from _explore(run, row, {**row.at, **settings}, options, only=row.breaks)


def _explore(
    run: Run,
    variant: Variant,
    constants: Mapping[str, int | bool],
    options: ReleaseOptions,
    only: str | None = None,
) -> list[_Explored]:
    names = _selected(variant.make(constants), options.patterns, only)
    if not names:
        return []
    found = _decided(run, variant, constants, names, options)
    return [_Explored(variant=variant, constants=constants, found=found)]


def _fixes(
    run: Run, explored: _Explored, options: ReleaseOptions
) -> dict[str, tuple[str, Verdict]]:
    """Returns, for each violated claim, the name of the variant with the fix, and the verdict on
    the claim in this variant.

    A claim is left out if the explored variant itself is the variant with the fix.
    """
    of_fix: dict[str, list[str]] = {}
    for claim in explored.violated:
        is_recorded = claim == explored.variant.breaks
        fix = fix_of(explored.variant) if is_recorded else find(explored.variant.spec)
        if fix is not explored.variant:
            of_fix.setdefault(fix.name, []).append(claim)
    verdicts: dict[str, tuple[str, Verdict]] = {}
    for name, claims in of_fix.items():
        fix = find(explored.variant.spec, name)
        found = _decided(run, fix, explored.constants, claims, options)
        verdicts |= {claim: (name, found[claim].verdict) for claim in claims}
    return verdicts


def _decided(
    run: Run,
    variant: Variant,
    constants: Mapping[str, int | bool],
    claims: Sequence[str],
    options: ReleaseOptions,
) -> Mapping[str, Discovery]:
    found = check(
        run,
        variant,
        variant.make(constants),
        claims,
        budget=options.budget,
        search=options.search,
        command=_command(variant, constants),
    )
    return found.discoveries


def _selected(spec: Spec, patterns: Sequence[str], only: str | None) -> tuple[str, ...]:
    names = (only,) if only is not None else selection.properties(spec, ())
    return tuple(n for n in names if not patterns or any(fnmatchcase(n, p) for p in patterns))


def _command(variant: Variant, constants: Mapping[str, int | bool]) -> str:
    words = [f"urteil check {variant.spec} --variant {variant.name}"]
    words += [f"--set {name}={str(value).lower()}" for name, value in constants.items()]
    return " ".join(words)
