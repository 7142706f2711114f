"""`urteil verify`: checks specs, proofs and claims, analyzes histories, and compares each verdict
with the expected one.

The expected verdicts are in this module, in the tables of the specs' variants, and in the suites.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from checkers import demo
from checkers.cli import analyze, completion, exploring, prove, record, selection, test
from checkers.cli.check_release import EVERY, ReleaseOptions, check_release
from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.events import Measured, PropertyDecided
from checkers.verdicts import Verdict
from model.faults import InputFault, UnknownName
from model.releases import LATEST, newest_patch
from model.shipped import NotShipped, shipped

if TYPE_CHECKING:
    from checkers.histories.analysis import Analysis
    from model.language.spec import Spec
    from model.variants import Variant

HOLDS: Final[Verdict] = "holds"
VIOLATED: Final[Verdict] = "violated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A variant of a spec, the values of its constants, and the expected verdict on each property.

    If `expected` is empty, the spec's own table of variants has the expected verdicts.
    """

    spec: str
    variant: str
    constants: Mapping[str, int | bool] = field(default_factory=dict[str, int | bool])
    expected: Mapping[str, Verdict] = field(default_factory=dict[str, Verdict])

    @property
    def command(self) -> str:
        constants = "".join(f" --set {k}={str(v).lower()}" for k, v in self.constants.items())
        return f"{self.spec} --variant {self.variant}{constants}"


def violates(
    spec: str, variant: str, *claims: str, constants: Mapping[str, int | bool] | None = None
) -> Expectation:
    """Returns the expectation that these claims are violated. No other claim is decided."""
    return Expectation(
        spec=spec,
        variant=variant,
        constants=constants or {},
        expected=dict.fromkeys(claims, VIOLATED),
    )


TWO_BROKERS = {"replicas": 2, "max_leader_epoch": 2}
THREE_BROKERS = {"replicas": 3, "max_leader_epoch": 1}
PUBLISHED = {**THREE_BROKERS, "log_size": 2, "max_records": 2, "as_published": True}

EXPLORED: Final = (
    violates("replication", "truncate-to-hw", "weak_isr", "strong_isr", constants=TWO_BROKERS),
    Expectation(
        spec="replication",
        variant="kip-101",
        constants=PUBLISHED,
        expected={"weak_isr": HOLDS},
    ),
    violates("replication", "kip-101", "strong_isr", constants=TWO_BROKERS),
    Expectation(spec="replication", variant="kip-320", constants=THREE_BROKERS),
    Expectation(spec="replication", variant="kip-320", constants=TWO_BROKERS),
    Expectation(spec="transactions-abstract", variant="v2"),
)

PROVED: Final = (
    Expectation(spec="transactions-abstract", variant="v2"),
    violates("transactions-abstract", "v1", "no_hanging_transaction", "faithful"),
    Expectation(spec="idempotence-abstract", variant="kip-360"),
    Expectation(spec="idempotence-abstract", variant="with-restarts"),
    violates("idempotence-abstract", "snapshot-keeps-newest", "at_most_once"),
    Expectation(spec="read-committed-abstract", variant="restores-unreplicated"),
    violates("read-committed-abstract", "kafka-4.3", "stable_offset_never_goes_back"),
    Expectation(spec="consumer-group-abstract", variant="kip-1251"),
    violates(
        "consumer-group-abstract", "erases-what-comes-back", "no_double_assignment", "one_reader"
    ),
    Expectation(spec="reassignment-abstract", variant="keeps-min-isr"),
    Expectation(spec="classic-group-abstract", variant="kip-345"),
    violates("classic-group-abstract", "believes-old-claims", "one_owner"),
    Expectation(spec="coordinator-abstract", variant="kip-1228"),
    violates("coordinator-abstract", "answers-early", "an_acknowledged_commit_stays"),
    Expectation(spec="pipeline-abstract", variant="kip-447"),
    violates("pipeline-abstract", "forgets-generation", "each_input_at_most_once"),
    Expectation(spec="share-group-abstract", variant="start-offset-grows"),
    violates(
        "share-group-abstract",
        "kafka-4.3",
        "acknowledgements_last",
        "start_offset_never_goes_back",
        constants={"members": 1, "writes": 2},
    ),
    Expectation(spec="retention-abstract", variant="joins-with-log-start"),
    violates(
        "retention-abstract", "kafka-4.3", "committed_records_are_kept", "deleted_stays_deleted"
    ),
)

SUITE: Final = "replication"
SEEDED: Final = ("no-dedup", "truncate-to-high-watermark", "ack-before-replication")

# Each bug of the reference broker that real clients can see, and the anomaly that it must cause.
ANOMALY_OF_BUG: Final = {
    "reordered-ack-offset": "offset-order-inversion",
    "stale-end-offset": "stale-end-offset",
    "zero-offset-ack": "inconsistent-offsets",
    "no-dedup": "duplicate",
    "lost-append": "lost-write",
}
# The anomalies that the clean recording must be able to show. Its clients use no transactions and
# no groups, so it cannot show the others.
EXERCISED: Final = frozenset(
    {
        "offset-order-inversion",
        "stale-end-offset",
        "future-read",
        "inconsistent-offsets",
        "duplicate",
        "duplicate-across-keys",
        "value-nobody-sent",
        "lost-write",
        "unseen",
        "int-poll-skip",
        "poll-skip",
        "int-nonmonotonic-poll",
        "nonmonotonic-poll",
        "nonmonotonic-send",
        "G1c-realtime",
    }
)
SENDS: Final = 3_000
SENDS_OF_A_BUG: Final = 300
UNANSWERED: Final = 20  # sends that must be applied without an answer, at least
RUNS: Final = 60  # runs of each search of the suite

DEMO: Final = Path(demo.__file__).with_name("three-anomalies.edn")
DEMO_SHOWS: Final = (
    "inconsistent-offsets",
    "duplicate",
    "lost-write",
    "unseen",  # the lost write, and a key with two values at one offset: never read
    "int-poll-skip",  # the poll skips the lost write
)


def model(run: Run) -> None:
    """Explore the specs with few replicas, records and epochs."""
    for expectation in EXPLORED:
        variant, spec = selected(expectation)
        names = tuple(expectation.expected) or selection.properties(spec, ())
        again = f"urteil check {expectation.command}"
        exploring.check(run, variant, spec, names, expected=expectation.expected, command=again)


def proof(run: Run) -> None:
    """Prove the abstract specs without bounds."""
    for expectation in PROVED:
        variant, spec = selected(expectation)
        names = tuple(expectation.expected) or selection.properties(spec, ())
        again = f"urteil check {expectation.command}"
        prove.prove(run, variant, spec, names, expected=expectation.expected, command=again)


def suite(run: Run) -> None:
    """Check the claims on the reference broker. Then check them on a broker with each of three
    bugs; each bug must break a claim.
    """
    from properties.suites.registry import suite_named
    from properties.suites.search.profiles import PROFILES
    from reference_impl.node.bugs import NO_BUGS, bugs_named

    chosen = suite_named(SUITE)
    quick = replace(PROFILES["pr"], runs=RUNS)
    test.inside(run, chosen, NO_BUGS, quick, run.seed)
    wanted = [bugs_named(name) for name in SEEDED]
    for side in chosen.outside:
        if side.bugs in wanted:
            test.decide(run, chosen, side, quick, run.seed)


def histories(run: Run) -> None:
    """Record histories of six brokers, of which five have a bug. Analyze these, and a history in
    Jepsen's format.
    """
    from checkers.spark.session import session

    with session():  # shared: starting Spark takes longer than an analysis
        clean = recorded(run, "history", SENDS)
        none: dict[str, Verdict] = dict.fromkeys(anomalies(), HOLDS)
        exercised(run, analyze.decide(run, clean, expected=none, title="recorded"))
        for bug, anomaly in ANOMALY_OF_BUG.items():
            history = recorded(run, f"history-{bug}", SENDS_OF_A_BUG, bug)
            wanted: dict[str, Verdict] = {anomaly: VIOLATED}
            analyze.decide(run, history, anomalies=(anomaly,), expected=wanted, title=f"bug {bug}")
        shown: dict[str, Verdict] = dict.fromkeys(DEMO_SHOWS, VIOLATED)
        analyze.decide(run, DEMO, expected={**none, **shown}, title="jepsen demo")


PARTS: Final[Mapping[str, Callable[[Run], None]]] = {
    "model": model,
    "proof": proof,
    "suite": suite,
    "histories": histories,
}


@click.command("verify")
@click.option(
    "--only",
    metavar="PART",
    multiple=True,
    help=f"Run only this part; repeatable: {', '.join(PARTS)}.",
)
@click.option(
    "--kafka",
    metavar="RELEASE",
    shell_complete=completion.releases,
    help="Run only model and proof, with the rules of this Kafka release and their fixes.",
)
@command(judged_by_expectation=True)
def verify_command(run: Run, only: tuple[str, ...], kafka: str | None) -> None:
    """Run everything: model, proofs, reference broker, recording and analysis, in one report.

    \b
    urteil verify
    urteil verify --only model --only proof
    urteil verify --kafka 4.3

    It also runs variants with bugs, in which a claim must be violated. Exits 1 if a verdict is
    unexpected. The recorded clients use no transactions and no groups. Exits 3 if the recording
    could not have shown an anomaly that such clients can show. Every other anomaly that must not
    occur may be "not exercised".
    """
    parts = PARTS if kafka is None else parts_of(kafka)
    for name in only:
        if name not in PARTS:
            raise UnknownName("part of verify", name, PARTS)
        if name not in parts:
            raise InputFault(
                f"--only {name}: it tests the reference broker, which has the rules of Kafka "
                f"{LATEST} only\n  leave --kafka or --only {name} out"
            )
    chosen = {name: part for name, part in parts.items() if not only or name in only}
    for name, part in chosen.items():
        started = time.monotonic()
        run.note(f"{name}: {(part.__doc__ or '').splitlines()[0]}")
        part(run)
        run.emit(
            Measured(metric=f"{name} took", value=round(time.monotonic() - started, 1), unit="s")
        )
    right = sum(verdict == HOLDS for verdict in run.decided)
    unexercised = sum(verdict == "not exercised" for verdict in run.decided)
    run.emit(
        Measured(
            metric="verdicts",
            value=f"{right} of {len(run.decided) - unexercised} are the expected ones",
        )
    )


def parts_of(release: str) -> Mapping[str, Callable[[Run], None]]:
    """Returns the checks of `verify --kafka RELEASE` by name: `model` and `proof`."""
    newest_patch(release)

    def model_of_release(run: Run) -> None:
        """Explore each spec with this release's rules. If a claim is violated, explore the version
        that fixes it, too.
        """
        check_release(run, EVERY, release, ReleaseOptions(recorded_only=True))

    def proof_of_release(run: Run) -> None:
        """Prove the abstract specs with the rules of this Kafka release."""
        for spec in dict.fromkeys(row.spec for row in PROVED):
            try:
                version = shipped(spec, release).version
            except NotShipped as fault:
                run.note(str(fault).splitlines()[0])
                continue
            made = version.make()
            only = {claim.name for claim in made.claims if not claim.lemma}
            broken: dict[str, Verdict] = dict.fromkeys(only & {version.breaks}, VIOLATED)
            at = version.at if version.breaks else {}  # a run that breaks a claim may need these
            row = Expectation(spec=spec, variant=version.name, constants=at, expected=broken)
            again = f"urteil check {row.command}"
            names = sorted(broken or only)
            prove.prove(run, version, made, names, at=at, expected=broken, command=again)

    return {"model": model_of_release, "proof": proof_of_release}


def anomalies() -> list[str]:
    from properties.anomalies.catalogue import CATALOGUE

    return [row.id for row in CATALOGUE]


def exercised(run: Run, found: Analysis) -> None:
    """Emits a verdict on the property "the recording exercises its anomalies". The verdict is
    `undecided` if the history could not have shown one of the anomalies in `EXERCISED`.
    """
    shown = {one.anomaly.id for one in found.decisions if one.verdict != "not exercised"}
    missing = sorted(EXERCISED - shown)
    run.emit(
        PropertyDecided(
            property="the recording exercises its anomalies",
            verdict="undecided" if missing else HOLDS,
            expected=HOLDS,
            engine="recorder",
            reason=f"not exercised: {', '.join(missing)}"
            if missing
            else f"{len(EXERCISED)} of {len(found.decisions)} anomalies must be exercised",
        )
    )


def selected(expectation: Expectation) -> tuple[Variant, Spec]:
    from model import specs

    variant = specs.find(expectation.spec, expectation.variant)
    return variant, variant.make(expectation.constants)


def recorded(run: Run, name: str, sends: int, *bugs: str) -> Path:
    """Records a history on the reference broker with the seeded bugs `bugs`, which are put into the
    broker on purpose. Returns the folder of the history.

    If there are no bugs, also emits a verdict on the property "sends are applied and unanswered".
    The verdict is `holds` if at least 20 sends were applied but got no response, and `undecided`
    otherwise.
    """
    from checkers.record.options import RecordOptions
    from checkers.systems.opening import ServedSystem

    assert run.folder is not None
    options = RecordOptions(
        folder=run.folder.path / name,
        bootstrap_servers="",
        sends=sends,
        seed=run.seed,
        progress=run.progress,
    )
    subject = record.subject_of(run, ServedSystem(), brokers=3, bugs=bugs)
    found = record.record(run, options, subject)
    unanswered = found.applied_but_unanswered or 0
    if not bugs:
        run.emit(
            PropertyDecided(
                property="sends are applied and unanswered",
                verdict=HOLDS if unanswered >= UNANSWERED else "undecided",
                expected=HOLDS,
                engine="recorder",
                seconds=round(found.seconds, 1),
                reason=f"{unanswered} of {sends} sends, counted from the broker's own log",
            )
        )
    return found.folder
