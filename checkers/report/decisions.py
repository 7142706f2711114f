"""Describes a decision in words. A decision is the verdict on one property of a spec, or on one
anomaly in a history.
"""

from __future__ import annotations

from checkers.events import AnomalyDecided, PropertyDecided
from checkers.verdicts import MEANINGS, Verdict, is_expected

Decision = PropertyDecided | AnomalyDecided
MARKS = {verdict: meaning.mark for verdict, meaning in MEANINGS.items()}
FEW = 10  # a verdict on fewer observations says so


def judged(decision: Decision, *, by_expectation: bool) -> Verdict:
    """Returns the verdict that counts for the exit code.

    If `by_expectation` is true and the decision has an expected verdict, this table applies. Each
    line has a condition and the result, and the first line with a true condition counts. In a
    condition, *expected* means that the verdict is the expected one:

        not exercised, and expected    not exercised
        any other expected verdict     holds
        undecided, but not expected    undecided
        known violation                holds
        any other verdict              violated

    If the table does not apply, a permitted or known violation counts as `holds`. Any other verdict
    counts unchanged.
    """
    if by_expectation and decision.expected is not None:
        if not is_expected(decision.verdict, decision.expected):
            if decision.verdict == "undecided":
                return "undecided"
            return "holds" if is_known(decision) else "violated"
        return "not exercised" if decision.verdict == "not exercised" else "holds"
    permitted = isinstance(decision, AnomalyDecided) and decision.permitted
    return (
        "holds"
        if (permitted or is_known(decision)) and decision.verdict == "violated"
        else decision.verdict
    )


def is_known(decision: Decision) -> bool:
    """Returns True if the file of known violations has all fingerprints of the violation."""
    return bool(decision.known) and decision.fingerprints.keys() <= decision.known.keys()


def claim(decision: Decision) -> str:
    return decision.property if isinstance(decision, PropertyDecided) else decision.anomaly


def heading(decision: Decision) -> str:
    """Returns the heading under which reports list a verdict.

    If the verdict is on an anomaly, the heading names the history. If the verdict is on a property,
    the heading has the spec, the engine, the number of states, the duration and the constants.
    """
    if isinstance(decision, AnomalyDecided):
        return f"{decision.history} · {decision.input_kind}"
    states, seconds = decision.distinct_states, decision.seconds
    spec, engine, constants = _subject(decision)
    measured = (
        many(states, "state") if states else "",
        "" if seconds is None else f"{seconds:.1f} s",
    )
    return " · ".join(filter(None, (spec, engine, *measured, constants)))


def subject(decision: Decision) -> str:
    """Returns a name of the history, or of the spec and the engine. Unlike `heading`, it has no
    measured values, so it is equal in every run.
    """
    if isinstance(decision, AnomalyDecided):
        return f"{decision.history} · {decision.input_kind}"
    return " · ".join(filter(None, _subject(decision)))


def _subject(decision: PropertyDecided) -> tuple[str, str, str]:
    constants = {k: v for k, v in (decision.constants or {}).items() if v is not False}
    values = ", ".join(k if v is True else f"{k} {v}" for k, v in constants.items())
    return " ".join(filter(None, (decision.spec, decision.variant))), decision.engine, values


def many(count: int, what: str, plural: str | None = None) -> str:
    return f"{count:,} {what if count == 1 else plural or f'{what}s'}"


def verdict(decision: Decision) -> str:
    """Returns the verdict as text, with a remark such as `permitted` or `as expected`."""
    if is_known(decision):
        return f"{decision.verdict}, known"
    if decision.expected is not None and not is_expected(decision.verdict, decision.expected):
        return f"{decision.verdict}, expected {decision.expected}"
    if isinstance(decision, AnomalyDecided) and decision.permitted and decision.count:
        return f"{decision.verdict}, permitted"
    as_expected = decision.expected is not None and decision.verdict == "violated"
    return f"{decision.verdict}, as expected" if as_expected else decision.verdict


def grounds(decision: Decision) -> str:
    """Returns the reason for a verdict as text. If there is no reason, the text is the size of the
    evidence, such as the length of the trace.

    If the file of known violations has reasons for the violation, they come first in the text.
    """
    return "; ".join(filter(None, (_baseline(decision), _reason(decision))))


def _baseline(decision: Decision) -> str:
    parts = [f"known: {text}" for text in dict.fromkeys(decision.known.values())]
    parts += [f"no longer known: {text}" for text in dict.fromkeys(decision.expired.values())]
    if (decision.known or decision.expired) and not is_known(decision):
        named = len({*decision.known, *decision.expired})
        if others := len(decision.fingerprints) - named:
            parts.append(f"{others} of {len(decision.fingerprints)} fingerprints are new")
    return "; ".join(parts)


def _reason(decision: Decision) -> str:
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
            few = decision.verdict == "holds" and decision.observations < FEW
            found = f"{decision.count:,} found in " if decision.count else "only " if few else ""
            unit = f" ({decision.observed})" if decision.observed else ""
            observed = f"{many(decision.observations, 'observation')}{unit}"
            causes = ", ".join(decision.may_follow_from)
            return f"{found}{observed}{f'; may follow from {causes}' if causes else ''}"
