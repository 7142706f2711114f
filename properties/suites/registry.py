"""The table of suites: which claims each decides, on which side of their conditions, and by which
search.

A claim that holds only under a condition has two sides. *Inside*, no run may break it. *Outside*
(another setting of the producer, or a seeded bug of the broker) some run breaks it, and the
smallest one found is shown. A claim that something can happen is the other way round: inside, some
run shows each of its goals; outside, none does.

"Holds" says that so many runs were searched from that seed and none broke it: a search, not a
proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from model.faults import UnknownName
from properties.replication_claims import ALWAYS, SOMETIMES
from properties.suites.replication import PROGRESS, SETTINGS, SIMPLER, ReplicationMachine, judged
from properties.suites.searching import Found, Tally, replay, search
from reference_impl.bugs import NO_BUGS, Bug, Bugs

Outcome = Literal["holds", "violated", "undecided"]

RUNS: Final = 200
RULES: Final = 16  # of each run


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a claim's condition, and what is expected there."""

    claim: str
    setting: str
    bugs: Bugs = NO_BUGS
    expected: Outcome
    because: str

    def __str__(self) -> str:
        bugs = "".join(f", bug {bug.value}" for bug in sorted(self.bugs, key=lambda b: b.value))
        return f"{self.claim} ({self.setting}{bugs})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A suite: its claims inside their conditions, and the sides outside."""

    name: str
    says: str
    inside: tuple[Side, ...]
    outside: tuple[Side, ...]

    @property
    def sides(self) -> tuple[Side, ...]:
        """Every side that the suite decides."""
        return self.inside + self.outside


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """What a search says of one claim; the program shows a breach, or a goal of the claim."""

    claim: str
    outcome: Outcome
    why: str
    programs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """What one run of a suite has decided, and what it cost."""

    suite: str
    bugs: Bugs
    seed: int
    verdicts: tuple[ClaimVerdict, ...]
    runs: int
    broker_steps: int
    cpu_seconds: float

    @property
    def violated(self) -> tuple[ClaimVerdict, ...]:
        """The verdicts that show a violation."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "violated")


def _inside(claim: str, setting: str, because: str) -> Side:
    return Side(claim=claim, setting=setting, expected="holds", because=because)


def _outside(claim: str, setting: str, because: str, bugs: Bugs = NO_BUGS) -> Side:
    return Side(claim=claim, setting=setting, bugs=bugs, expected="violated", because=because)


REPLICATION: Final = Suite(
    name="replication",
    says="publishing to three replicas under crashes, splits and lost answers",
    inside=(
        *(
            _inside(claim, "idempotent", SETTINGS["idempotent"].says)
            for claim in ALWAYS
            if claim != "linearizable_offsets"
        ),
        _inside("linearizable_offsets", "read at the leader", SETTINGS["read at the leader"].says),
        _inside("ambiguous_send", "no retries", "a lost answer and a lost request look alike"),
        _inside("no_retry_loses", "no retries", "a request that never arrived is not sent again"),
        _inside("retry_duplicates", "not idempotent", "the broker cannot know a retry"),
        _inside("acks_levels", "acks=1", "the leader dies before its followers have the record"),
    ),
    outside=(
        _outside("exactly_once_publish", "not idempotent", "a retry is appended again"),
        _outside("append_order", "not idempotent", "a retry lands behind its successor"),
        _outside("committed_survives", "acks=1", "acknowledged is not yet replicated"),
        _outside(
            "offset_identifies", "acks=1, no retries", "an offset that was lost is given again"
        ),
        _outside("linearizable_offsets", "acks=1, no retries", "the log loses its end"),
        _outside("linearizable_offsets", "idempotent", "a stale leader still answers"),
        _outside("ambiguous_send", "idempotent", "retries until acknowledged end the doubt"),
        _outside("no_retry_loses", "idempotent", "what is lost is sent again"),
        _outside("retry_duplicates", "idempotent", "the broker knows a retry by its number"),
        _outside("acks_levels", "idempotent", "acks=all acknowledges what is replicated"),
        *(
            _outside(claim, "idempotent", because, frozenset({bug}))
            for claim, bug, because in (
                ("exactly_once_publish", Bug.NO_DEDUP, "a retry is appended again"),
                (
                    "exactly_once_publish",
                    Bug.DEDUP_LOST_ON_FAILOVER,
                    "the new leader does not know the retry",
                ),
                (
                    "committed_survives",
                    Bug.TRUNCATE_TO_HIGH_WATERMARK,
                    "a follower forgets what it had, and is elected",
                ),
                (
                    "committed_survives",
                    Bug.ACK_BEFORE_REPLICATION,
                    "the leader dies with the only copy",
                ),
                ("committed_survives", Bug.LOST_APPEND, "acknowledged and not kept"),
                ("offset_identifies", Bug.ZERO_OFFSET_ACK, "offset 0 is told again"),
                ("offset_identifies", Bug.REORDERED_ACK_OFFSET, "an older offset is told again"),
            )
        ),
        *(
            _outside("linearizable_offsets", "read at the leader", because, frozenset({bug}))
            for bug, because in (
                (Bug.REORDERED_ACK_OFFSET, "an acknowledgement goes back"),
                (Bug.STALE_END_OFFSET, "the end of the log goes back"),
            )
        ),
        # With retries the same record would come to the same offset, and nobody would notice.
        _outside(
            "reads_are_committed",
            "no retries",
            "what was read is lost with the leader",
            frozenset({Bug.READ_ABOVE_HIGH_WATERMARK}),
        ),
    ),
)

SUITES: Final = {suite.name: suite for suite in (REPLICATION,)}


def suite_named(name: str) -> Suite:
    """The suite of this name; UnknownName tells the nearest ones."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return SUITES[name]


def run(
    suite: str,
    *,
    bugs: Bugs = NO_BUGS,
    seed: int = 0,
    runs: int = RUNS,
    progress: Callable[[Tally], None] | None = None,
) -> SuiteResult:
    """The claims of the suite inside their conditions, on a broker with these bugs.

    The claims that hold always are judged together, on the same runs; the search ends at the first
    violation, and a claim that this run does not break is then undecided. Claims that something
    can happen are searched on a broker without bugs only.
    """
    started = time.process_time()
    tally = Tally(progress=progress)
    inside = suite_named(suite).inside
    settings = dict.fromkeys(side.setting for side in inside if side.claim in ALWAYS)
    verdicts: list[ClaimVerdict] = []
    for setting in settings:
        claims = [s.claim for s in inside if s.claim in ALWAYS and s.setting == setting]
        broken = next((verdict for verdict in verdicts if verdict.outcome == "violated"), None)
        if broken is None:
            verdicts += _judge_together(claims, setting, bugs, seed, runs, tally)
        else:
            why = f"the search ended when it had broken {broken.claim}"
            verdicts += (
                ClaimVerdict(claim=claim, outcome="undecided", why=why) for claim in claims
            )
    if not bugs:
        verdicts += (
            _decide_goals(side, seed, runs, tally) for side in inside if side.claim in SOMETIMES
        )
    return SuiteResult(
        suite=suite,
        bugs=bugs,
        seed=seed,
        verdicts=tuple(verdicts),
        runs=tally.runs,
        broker_steps=tally.broker_steps,
        cpu_seconds=time.process_time() - started,
    )


def decide(
    side: Side,
    *,
    seed: int = 0,
    runs: int = RUNS,
    progress: Callable[[Tally], None] | None = None,
) -> ClaimVerdict:
    """What a search says of a claim on one side of its condition."""
    tally = Tally(progress=progress)
    if side.claim in SOMETIMES:
        return _decide_goals(side, seed, runs, tally)
    verdicts = _judge_together([side.claim], side.setting, side.bugs, seed, runs, tally)
    return next(verdict for verdict in verdicts if verdict.claim == side.claim)


def program(found: Found, setting: str, bugs: Bugs) -> str:
    """A program that runs what was found again, and raises it again."""
    names = ", ".join(f'"{bug.value}"' for bug in sorted(bugs, key=lambda bug: bug.value))
    broken = f", bugs=bugs_named({names})" if bugs else ""
    imports = ["from properties.suites.replication import ReplicationMachine"]
    if bugs:
        imports.append("from reference_impl.bugs import bugs_named")
    return "\n".join(
        (
            f"# {found.name}: {found.how}",
            *imports,
            "",
            f'state = ReplicationMachine("{setting}"{broken}, judge=("{found.name}",))',
            *map(str, found.calls),
            "state.teardown()",
            "",
        )
    )


def _judge_together(
    claims: Sequence[str], setting: str, bugs: Bugs, seed: int, runs: int, tally: Tally
) -> list[ClaimVerdict]:
    machine = partial(ReplicationMachine, setting, bugs=bugs, tally=tally)
    found = search(
        partial(machine, judge=tuple(claims)), seed=seed, runs=runs, rules=RULES, simpler=SIMPLER
    )
    if found is None:
        why = f"none of {runs} runs of {RULES} rules breaks it (seed {seed})"
        return [ClaimVerdict(claim=claim, outcome="holds", why=why) for claim in claims]
    again = machine(judge=())
    replay(again, found.calls)
    verdicts = [_verdict(claim, again, found, setting, bugs) for claim in claims]
    if found.name == PROGRESS:
        text = program(found, setting, bugs)
        stuck = ClaimVerdict(claim=PROGRESS, outcome="violated", why=found.how, programs=(text,))
        verdicts.append(stuck)
    return verdicts


def _verdict(
    claim: str, again: ReplicationMachine, found: Found, setting: str, bugs: Bugs
) -> ClaimVerdict:
    """What the smallest run says of one claim: it may break several."""
    how = judged(claim, again.published) if again.published is not None else None
    if how is None:
        why = f"the search ended when it had broken {found.name}"
        return ClaimVerdict(claim=claim, outcome="undecided", why=why)
    shown = Found(name=claim, how=how, calls=found.calls)
    text = program(shown, setting, bugs)
    return ClaimVerdict(claim=claim, outcome="violated", why=how, programs=(text,))


def _decide_goals(side: Side, seed: int, runs: int, tally: Tally) -> ClaimVerdict:
    machine = partial(ReplicationMachine, side.setting, bugs=side.bugs, tally=tally)
    programs: list[str] = []
    for goal in SOMETIMES[side.claim]:
        name = f"{side.claim}: {goal}"
        found = search(
            partial(machine, judge=(name,)), seed=seed, runs=runs, rules=RULES, simpler=SIMPLER
        )
        if found is None or found.name != name:
            why = f"none of {runs} runs of {RULES} rules shows it {goal} (seed {seed})"
            return ClaimVerdict(claim=side.claim, outcome="violated", why=why)
        programs.append(program(found, side.setting, side.bugs))
    why = "shown: " + "; ".join(SOMETIMES[side.claim])
    return ClaimVerdict(claim=side.claim, outcome="holds", why=why, programs=tuple(programs))
