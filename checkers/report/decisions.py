"""A decision in words: what was judged, the verdict, what a reader should think of it, and why."""

from __future__ import annotations

from checkers.events import AnomalyDecided, PropertyDecided
from checkers.verdicts import Verdict

Decision = PropertyDecided | AnomalyDecided
MARKS = {"holds": "✓", "violated": "✗", "undecided": "?"}


def judged(decision: Decision, *, by_expectation: bool) -> Verdict:
    """What a decision means for the exit code.

    By expectation, whether it is the right one; else a violation that is permitted is none.
    """
    if by_expectation and decision.expected is not None:
        return "holds" if decision.verdict == decision.expected else "violated"
    permitted = isinstance(decision, AnomalyDecided) and decision.permitted
    return "holds" if permitted and decision.verdict == "violated" else decision.verdict


def claim(decision: Decision) -> str:
    """The name of the property or the anomaly."""
    return decision.property if isinstance(decision, PropertyDecided) else decision.anomaly


def heading(decision: Decision) -> str:
    """What was judged, by which engine, on how much, in how long, at which constants."""
    if isinstance(decision, AnomalyDecided):
        return f"{decision.history} · {decision.over}"
    states, seconds = decision.distinct_states, decision.seconds
    spec, engine, constants = _subject(decision)
    measured = (
        many(states, "state") if states else "",
        "" if seconds is None else f"{seconds:.1f} s",
    )
    return " · ".join(filter(None, (spec, engine, *measured, constants)))


def subject(decision: Decision) -> str:
    """The same without what differs from run to run."""
    if isinstance(decision, AnomalyDecided):
        return f"{decision.history} · {decision.over}"
    return " · ".join(filter(None, _subject(decision)))


def _subject(decision: PropertyDecided) -> tuple[str, str, str]:
    """Spec and variant, engine, constants: never cut, for a verdict means no more than they say."""
    constants = {k: v for k, v in (decision.constants or {}).items() if v is not False}
    said = ", ".join(k if v is True else f"{k} {v}" for k, v in constants.items())
    return " ".join(filter(None, (decision.spec, decision.variant))), decision.engine, said


def many(count: int, what: str) -> str:
    """`1 state`, `6,010 states`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def verdict(decision: Decision) -> str:
    """The verdict, and what the reader should think of it."""
    if decision.expected is not None and decision.verdict != decision.expected:
        return f"{decision.verdict}, expected {decision.expected}"
    if isinstance(decision, AnomalyDecided) and decision.permitted and decision.count:
        return f"{decision.verdict}, permitted"
    known = decision.expected is not None and decision.verdict == "violated"
    return f"{decision.verdict}, as expected" if known else decision.verdict


def grounds(decision: Decision) -> str:
    """Why: how far the shortest trace goes, how many were found, what the verdict rests on."""
    if decision.reason is not None:
        return decision.reason
    match decision:
        case PropertyDecided():
            steps, depth = decision.trace_length, decision.depth
            if steps is not None:
                return f"in {many(steps, 'step')}"
            return f"to depth {depth}" if depth is not None else ""
        case AnomalyDecided():
            if not decision.observations:
                return "nothing was observed that could have shown it"
            found = f"{decision.count:,} found; " if decision.count else ""
            return f"{found}{many(decision.observations, 'observation')}"
