"""Writes the page docs/trials.md from the verdicts of all trials (test runs on a system).

The page begins with a summary of each system, and the verdicts on each claim. Then come the
undecided claims, and the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from properties.claims.catalogue import CLAIMS
from properties.claims.claim import Claim
from properties.suites.machines.driven import Power
from properties.suites.registry import SUITES
from properties.suites.suite import Suite
from tools.trials.record import Decided, Place
from tools.trials.unbroken import BECAUSE, SUBJECT

PAGE: Final = Path(__file__).parents[2] / "docs" / "trials.md"
DECIDED: Final = ("holds", "violated")
SIDES: Final[tuple[Place, ...]] = ("inside", "outside")
FEW_BROKEN: Final = "no counterexample"
TOP: Final = """<!-- Written by tools/trials from its record: do not edit. -->
# Results of trials

`urteil test SUITE --on SYSTEM` runs the programs of the property suites against a running system:
the same clients and the same rules that drive the simulated broker, in real time. After the last
rule all faults end, the system recovers, and the same definitions judge what the clients observed.
For the suite `elections` they also judge the states of replicas, from the brokers' TRACE logs and
their log folders.

A claim *holds* here if no trial broke it. That is a search with a small budget, not a proof.
Outside its condition a claim should be *violated*: *again* says in how many of how many runs the
reduced program did so again. A claim is *undecided* if no trial showed what was expected, or if the
system cannot suffer the faults that it needs. The reference broker alone has seeded bugs, so sides
that need a bug are not listed. The system *served* is the reference broker over TCP.
"""


def page(rows: Sequence[Decided]) -> str:
    return "\n".join((TOP, *_lines(rows))).rstrip() + "\n"


def _lines(rows: Sequence[Decided]) -> Iterator[str]:
    systems = sorted({row.system for row in rows})
    by_system = {system: [row for row in rows if row.system == system] for system in systems}
    yield from _table(
        ("System", "Decided inside", "Decided outside", "Not as expected", "Trials", "Minutes"),
        ((system, *_counts(ours)) for system, ours in by_system.items()),
    )
    yield "## Claims"
    yield ""
    yield "The verdict inside the claim's condition, then the one outside. *none*: without a seeded"
    yield "bug the claim has no side outside."
    yield ""
    yield from _table(
        ("Suite", "Claim", *systems),
        (
            (name, claim, *(_cell(suite, ours, claim) for ours in by_system.values()))
            for name, suite in SUITES.items()
            for claim in suite.claims
        ),
    )
    yield from _outside([row for row in rows if row.system == SUBJECT])
    for system, ours in by_system.items():
        yield f"## {system}"
        yield ""
        yield from _undecided(ours)
        for suite in SUITES:
            yield from _evidence(suite, [row for row in ours if row.suite == suite])


def _outside(rows: Sequence[Decided]) -> Iterator[str]:
    yield f"## Outside their conditions on {SUBJECT}"
    yield ""
    yield "The setting in which a trial broke the claim, and what it showed. A claim without such a"
    yield "setting has the reason instead. To repeat a row:"
    yield ""
    yield f"    python -m tools.trials --on {SUBJECT} --side outside --again SUITE --claim CLAIM"
    yield ""
    yield "with the options of the row."
    yield ""
    yield from _table(
        ("Suite", "Claim", "Setting", "What a trial showed, or why none does", "Again", "Options"),
        (
            *(
                (name, claim, *_broken(name, claim, rows))
                for name, suite in SUITES.items()
                for claim in suite.claims
            ),
            *(
                ("none", claim.id, "", claim.explained, "", "")
                for claim in CLAIMS
                if _is_alone(claim)
            ),
        ),
    )


def _is_alone(claim: Claim) -> bool:
    # No trial decides such a claim.
    return not any(claim.id in suite.claims for suite in SUITES.values())


def _broken(suite: str, claim: str, rows: Sequence[Decided]) -> tuple[str, str, str, str]:
    """Returns four texts about a trial that broke the claim: its setting, its result, its
    repetitions and its options.

    If no trial broke the claim, the second text says why, and the other texts are empty.
    """
    found = (
        row
        for row in rows
        if (row.suite, row.claim, row.side) == (suite, claim, "outside")
        and row.verdict == "violated"
    )
    row = next(found, None)
    if row is None:
        return "", BECAUSE.get((suite, claim), "not tried yet"), "", ""
    why = row.why if row.program else f"{row.why} in {row.trials} trial{'s' * (row.trials > 1)}"
    return row.setting, why, row.again, f"`{options}`" if (options := _options(row)) else ""


def _options(row: Decided) -> str:
    """Returns the options of `python -m tools.trials` that repeat the trials of a row."""
    proxied = {Power.CUT.value, Power.DELAY.value}.intersection(row.tried)
    settings = (f"--broker-config {setting}" for setting in row.settings)
    options = ["--proxied"] * bool(proxied) + ["--faults"] * bool(row.tried)
    return " ".join((*options, *settings))


def _counts(rows: Sequence[Decided]) -> tuple[str, ...]:
    decided = [row for row in rows if row.verdict in DECIDED]
    by_side = (len({row.claim for row in decided if row.side == side}) for side in SIDES)
    return (
        *(f"{count} of {len(CLAIMS)}" for count in by_side),
        str(sum(map(_is_odd, rows))),
        str(sum(row.trials for row in _once(rows))),
        f"{sum(row.seconds for row in _once(rows)) / 60:.0f}",
    )


def _once(rows: Iterable[Decided]) -> list[Decided]:
    # A sum counts each trial once, although it decides several claims.
    return list({_trials_of(row): row for row in rows}.values())


def _trials_of(row: Decided) -> tuple[object, ...]:
    own = (row.claim,) if row.program or row.expected != "holds" else ()
    return row.suite, row.setting, row.side, row.trials, row.seconds, own


def _cell(suite: Suite, rows: Sequence[Decided], claim: str) -> str:
    ours = [row for row in rows if (row.suite, row.claim) == (suite.name, claim)]
    outside = any(side.claim == claim and not side.bugs for side in suite.outside)
    both = [_verdict_of([row for row in ours if row.side == side]) for side in SIDES]
    return f"{both[0]}, {both[1] if outside else 'none'}"


def _verdict_of(rows: Sequence[Decided]) -> str:
    odd = next(filter(_is_odd, rows), None)
    if odd is not None:
        return f"**{odd.verdict}**"
    found = next((row.verdict for row in rows if row.verdict in DECIDED), "undecided")
    return found if rows else "not tried"


def _is_odd(row: Decided) -> bool:
    return row.verdict in DECIDED and row.verdict != row.expected


def _undecided(rows: Sequence[Decided]) -> Iterator[str]:
    found = [row for row in rows if row.verdict == "undecided"]
    if found:
        yield "### Undecided"
        yield ""
        yield from _table(
            ("Claim", "Side and setting", "Because", "Trials"),
            (
                (row.claim, f"{row.side}: {row.setting}", row.why, str(row.trials))
                for row in sorted(found, key=lambda row: (row.suite, row.claim, row.side))
            ),
        )


def _evidence(suite: str, rows: Sequence[Decided]) -> Iterator[str]:
    # claims share one row if the same trials found no counterexample to them
    decided = sorted((row for row in rows if row.verdict in DECIDED), key=_held_together)
    if not decided:
        return
    yield f"### {suite}"
    yield ""
    yield from _table(
        ("Claims", "Side and setting", "Verdict", "Because", "Trials", "Again"),
        (_row(list(same)) for _, same in groupby(decided, key=_held_together)),
    )
    tried = sorted({fault for row in decided for fault in row.tried})
    untried = {fault for row in decided for fault in row.untried}.difference(tried)
    if tried:
        yield f"Faults of brokers that the drawn trials had: {', '.join(tried)}."
    if untried:
        yield f"Faults that no trial had: {', '.join(sorted(untried))}."
    yield ""


def _held_together(row: Decided) -> tuple[object, ...]:
    is_shared = row.why.startswith(FEW_BROKEN) and row.verdict == "holds"
    own = "" if is_shared else row.claim
    return row.side, own, row.setting, row.why, row.trials, row.seconds


def _row(same: Sequence[Decided]) -> tuple[str, ...]:
    one = same[0]
    verdict = f"**{one.verdict}**" if _is_odd(one) else one.verdict
    where = f"{one.side}: {one.setting}"
    if one.settings:
        where += f" ({', '.join(one.settings)})"
    return (
        ", ".join(sorted(row.claim for row in same)),
        where,
        verdict,
        one.why + (f": [finding](findings/{one.finding}.md)" if one.finding else ""),
        f"{one.trials} in {one.seconds:.0f} s",
        one.again,
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""
