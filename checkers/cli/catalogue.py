"""The catalogue of all items that have a name, such as specs, bugs and anomalies. `urteil list`
prints its rows, and `urteil explain` looks up a name in it.

A row is about one item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from checkers.events import Listed
from model.faults import UnknownName

if TYPE_CHECKING:  # listing one kind must not import the tables of the others
    from checkers.claim_record import Decided
    from model.variants import Variant
    from properties.anomalies.anomaly import Anomaly
    from properties.log_audit.check import Check


def specs() -> Iterator[Listed]:
    from model.specs import SPECS

    yield from map(_spec, SPECS)


def _spec(name: str) -> Listed:
    """Returns the row of a spec. `name` is the name of a built-in spec, or the path of a .py file
    with a spec.
    """
    from model.specs import find

    default = find(name)
    facts = {"default": default.name}
    return Listed(
        kind="spec", item=name, statement=default.summary, in_force=default.in_force, facts=facts
    )


def specs_of(release: str) -> Iterator[Listed]:
    """Yields a row for each spec, with the summary of the version of the spec that models a release
    of Kafka.

    If no version of the spec models the release, the `statement` of the row is the reason.
    """
    from model.shipped import NotShipped, shipped, why_without_version
    from model.specs import SPECS

    for name in SPECS:
        try:
            version = shipped(name, release).version
        except NotShipped:
            why = f"no version: {why_without_version(name, release)}"
            yield Listed(kind="spec", item=name, statement=why, facts={"of": ""})
        else:
            facts = {"of": version.name}
            yield Listed(
                kind="spec",
                item=name,
                statement=version.summary,
                in_force=version.in_force,
                facts=facts,
            )


def versions() -> Iterator[Listed]:
    yield from _variants("version")


def bugs() -> Iterator[Listed]:
    from reference_impl.node.seeded_bugs import SEEDED_BUGS

    yield from _variants("bug")
    for row in SEEDED_BUGS:
        facts = {
            "of": "broker",
            "in_force": str(row.in_force),
            "breaks": row.breaks,
            "caught_by": row.caught_by,
            "source": row.source,
        }
        yield Listed(
            kind="bug",
            item=row.name,
            statement=row.changes,
            in_force=row.in_force,
            facts=facts,
        )


def _variants(kind: str) -> Iterator[Listed]:
    from checkers import counterexample_record, track_record
    from model.replication.ladder import LADDER
    from model.specs import all_variants

    record, traces = track_record.kept(), counterexample_record.kept()
    for row in all_variants():
        if row.kind == kind:
            caught = record.get((row.spec, row.name))
            trace = traces.get((row.spec, row.name))
            facts = {
                "of": row.spec,
                "reported_as": row.issue,
                "in_force": str(row.in_force),
                "default": row.default,
                "details": row.explanation,
                "breaks": row.breaks,
                "steps": row.steps,
                "at": dict(row.at),
                "caught": None if caught is None else str(caught),
                "counterexample": None if trace is None else str(trace),
                "shown_by": None if row.breaks is None else _command(row),
                "scopes": [str(r) for r in LADDER if (row.spec, row.name) == r.row],
            }
            yield Listed(
                kind=kind, item=row.name, statement=row.summary, in_force=row.in_force, facts=facts
            )


def _command(row: Variant) -> str:
    constants = "".join(f" --set {k}={str(v).lower()}" for k, v in row.at.items())
    return f"urteil check {row.spec} --variant {row.name}{constants} --property {row.breaks}"


def left_out() -> Iterator[Listed]:
    """Yields a row for each bug of Kafka that no spec models. The row has the reason for which no
    spec models the bug.
    """
    from model.bugs_left_out import BUGS_LEFT_OUT

    for row in BUGS_LEFT_OUT:
        yield Listed(
            kind="left out", item=row.issue, statement=row.what, facts={"reason": row.reason}
        )


ROLES: Final = {  # the mark of a spec's method -> what it is
    "invariant": "invariant",
    "lemma": "lemma",
    "action property": "action property",
    "liveness": "liveness property",
    "witness": "witness",
}


def properties() -> Iterator[Listed]:
    from model.language.spec import summaries
    from model.specs import SPECS, find

    for spec in SPECS:
        for mark, role in ROLES.items():
            for name, summary in summaries(find(spec).cls, mark).items():
                facts = {"of": spec, "role": role}
                yield Listed(kind="property", item=name, statement=summary, facts=facts)
    yield from (replace(row, kind="property") for row in anomalies())


def anomalies() -> Iterator[Listed]:
    from properties.anomalies.catalogue import EVERY
    from properties.anomalies.consequences import causes_of
    from properties.log_audit.catalogue import CHECKS

    for row in EVERY:
        follows = [f"{one.cause}: {one.because}" for one in causes_of(row.id)]
        yield _anomaly("history", row, may_follow_from=follows)
    yield from (_anomaly("log directories", row) for row in CHECKS)


def _anomaly(of: str, row: Anomaly | Check, may_follow_from: Sequence[str] = ()) -> Listed:
    facts = {
        "of": of,
        "rule": row.rule,
        "explanation": row.explanation,
        "permitted": [f"{when}: {why}" for when, why in row.permits.items()],
        "may_follow_from": may_follow_from,
        "observed": row.observes,
        "source": row.source,
    }
    return Listed(kind="anomaly", item=row.id, statement=row.statement, facts=facts)


def claims() -> Iterator[Listed]:
    from checkers.claim_record import kept
    from properties.claims.catalogue import CLAIMS

    record = kept()
    for claim in CLAIMS:
        engines = list(dict.fromkeys(decider.engine for decider in claim.decided_by))
        outside = [run for run in record if (run.claim, run.side) == (claim.id, "outside")]
        inside = [run for run in record if (run.claim, run.side) == (claim.id, "inside")]
        facts = {
            "of": f"{len(inside)} inside, {len(outside)} outside",
            "group": claim.group,
            "in_force": str(claim.in_force),
            "condition": claim.condition,
            "broken_by": claim.broken_by,
            "decided_by": [str(d) for d in claim.decided_by],
            "engines": engines,
            "inside": inside,
            "outside": outside,
            "counterexample": shortest_counterexample(outside) or shortest_counterexample(inside),
            "explained": claim.explained,
            "source": claim.source,
        }
        yield Listed(
            kind="claim",
            item=claim.id,
            statement=claim.statement,
            in_force=claim.in_force,
            facts=facts,
        )


def shortest_counterexample(runs: Iterable[Decided]) -> str | None:
    """Returns the shortest recorded counterexample of a claim, or None if none is recorded.

    A counterexample is a program (a text of several lines) or a command. A command is returned only
    if there is no program.
    """
    texts = [run.counterexample for run in runs if run.counterexample]
    return min(texts, key=lambda text: ("\n" not in text, len(text)), default=None)


def suite_names() -> list[str]:
    """Returns the names of the suites. The suites are not imported, because this takes seconds."""
    from properties.claims.catalogue import CLAIMS

    deciders = (by for claim in CLAIMS for by in claim.decided_by)
    return [by.name for by in deciders if by.engine == "suite"]


def suites() -> Iterator[Listed]:
    from properties.suites.registry import SUITES

    for suite in SUITES.values():
        facts = {"claims": list(suite.claims)}
        yield Listed(kind="suite", item=suite.name, statement=suite.summary, facts=facts)


def sweeps() -> Iterator[Listed]:
    from reference_impl.simulation.sweeps import SWEEPS

    for sweep in SWEEPS.values():
        yield Listed(kind="sweep", item=sweep.name, statement=sweep.says)


KINDS: Final[dict[str, Callable[[], Iterator[Listed]]]] = {
    "specs": specs,
    "versions": versions,
    "bugs": bugs,
    "properties": properties,
    "claims": claims,
    "anomalies": anomalies,
    "suites": suites,
    "sweeps": sweeps,
    "left-out": left_out,
}
WITH_RELEASES: Final = ("versions", "bugs", "claims", "specs")
CONTENTS: Final = {
    "specs": "state machines of the protocol: the argument of check, prove, export",
    "versions": "versions of the protocol that a spec models: --variant of check and prove",
    "bugs": "bugs of the specs (--variant) and of the reference broker (--bug)",
    "properties": "what each spec claims: invariants, steps, liveness; then the anomalies",
    "claims": "the guarantees of Kafka, their conditions, and what decides them",
    "anomalies": "what analyze finds in histories and log directories: --anomaly",
    "suites": "property suites: the argument of test",
    "sweeps": "simulations from many seeds: the argument of sweep",
    "left-out": "bugs of Kafka that no spec models, and why",
}


def of_release(row: Listed, release: str) -> dict[str, str]:
    """Returns how a bug or a spec relates to a release of Kafka, as an additional column of a
    table. The result maps the title of the column to the text of the cell.

    For a bug, it is for example `{"Kafka 4.3": "has it"}`. For a spec, the text names the version
    and the bugs that the release has. If `row` names no releases, the result is empty.
    """
    from model.releases import newest_patch

    newest_patch(release)
    title = f"Kafka {release}"
    if row.kind == "spec":
        return {title: "\n".join(_rules(row.item, release)) + "\n"}
    if row.in_force is None:
        return {}
    words = {True: "has it", False: "does not have it", None: "not known whether it has it"}
    return {title: words[row.in_force.has(release)]}


def _rules(spec: str, release: str) -> Iterator[str]:
    from model.shipped import NotShipped, fix_of, shipped

    try:
        found = shipped(spec, release)
    except NotShipped as fault:
        yield str(fault)
        return
    for row in (found.version, *found.bugs):
        fixed = "" if row.breaks is None else f"; breaks {row.breaks}, fixed by {fix_of(row).name}"
        yield f"{row.kind} {row.name}, {row.in_force}{fixed}"
    for row in found.uncertain:
        yield f"not known: {row.kind} {row.name}, {row.in_force}"


def kinds() -> Iterator[Listed]:
    for kind, contents in CONTENTS.items():
        yield Listed(kind="kind", item=kind, statement=contents)


def rows(kind: str) -> Iterator[Listed]:
    if kind not in KINDS:
        raise UnknownName("kind", kind, KINDS)
    return KINDS[kind]()


def named(name: str) -> list[Listed]:
    """Returns all items of the catalogue with this name.

    `name` can also be an issue number, such as `KAFKA-1234`, or the path of a .py file with a spec.
    Raises UnknownName if nothing is found, and SpecError if the file cannot be read.
    """
    if name.endswith(".py"):
        return [_spec(name)]
    skipped = {"anomalies"}  # they are properties, too
    if name not in suite_names():
        skipped.add("suites")
    every = [row for kind in KINDS if kind not in skipped for row in KINDS[kind]()]
    found = [row for row in every if name in (row.item, row.facts.get("reported_as"))]
    if not found:
        raise UnknownName("item", name, {*suite_names(), *(row.item for row in every)})
    return found
