"""Compares two runs: which violations are new, which are gone, and which verdicts changed.

Two verdicts are compared if they have the same claim or anomaly, and the same subject. The subject
is the spec with its constants, or the history. If each run has only one subject, the verdicts are
compared even if the names of the subjects differ. A violation is new if the earlier run has no
violation with its fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from checkers.events import VerdictCompared
from checkers.over_time.kept_run import KeptRun, KeptVerdict, worst

NEW: Final = "new"
GONE: Final = "gone"
CHANGED: Final = "changed"
_Key = tuple[str, str]


def compared(before: KeptRun, after: KeptRun) -> tuple[VerdictCompared, ...]:
    """Returns the differences between two runs. New violations come first, then violations that
    are gone, and then other changes.
    """
    many = max(len({one.subject for one in run.verdicts}) for run in (before, after)) > 1
    earlier, later = _by_claim(before, by_subject=many), _by_claim(after, by_subject=many)
    found = [
        one
        for key in dict.fromkeys([*later, *earlier])
        for one in _differences(key, earlier.get(key), later.get(key))
    ]
    order = (NEW, GONE, CHANGED)
    return tuple(sorted(found, key=lambda one: order.index(one.change)))


def _by_claim(run: KeptRun, *, by_subject: bool) -> Mapping[_Key, KeptVerdict]:
    groups: dict[_Key, list[KeptVerdict]] = {}
    for one in run.verdicts:
        groups.setdefault((one.claim, one.subject if by_subject else ""), []).append(one)
    return {key: worst(group) for key, group in groups.items()}


def _differences(
    key: _Key, before: KeptVerdict | None, after: KeptVerdict | None
) -> Iterator[VerdictCompared]:
    was, now = _violations(before), _violations(after)
    if was is None and now is None:
        if (before and before.word) != (after and after.word):
            yield _difference(CHANGED, key, before, after, {})
        return
    # A run of an earlier release has no fingerprints; then the claim alone is compared.
    by_claim = was is None or now is None or not (was and now)
    added = now if was is None else {} if by_claim else _without(now, was)
    lost = was if now is None else {} if by_claim else _without(was, now)
    if now is not None and (added or was is None):
        yield _difference(NEW, key, before, after, added or {})
    if was is not None and (lost or now is None):
        yield _difference(GONE, key, before, after, lost or {})
    both = before is not None and after is not None and was is not None and now is not None
    if both and not (added or lost) and _word_and_count(before) != _word_and_count(after):
        yield _difference(CHANGED, key, before, after, {})


def _word_and_count(verdict: KeptVerdict | None) -> tuple[str, int | None] | None:
    return None if verdict is None else (verdict.word, verdict.count)


def _without(some: Mapping[str, str] | None, others: Mapping[str, str] | None) -> dict[str, str]:
    return {print_: shape for print_, shape in (some or {}).items() if print_ not in (others or {})}


def _violations(verdict: KeptVerdict | None) -> Mapping[str, str] | None:
    if verdict is None or (verdict.judged != "violated" and not verdict.known):
        return None
    return verdict.fingerprints


def _difference(
    change: str,
    key: _Key,
    before: KeptVerdict | None,
    after: KeptVerdict | None,
    fingerprints: Mapping[str, str],
) -> VerdictCompared:
    either = after or before
    return VerdictCompared(
        change=change,
        claim=key[0],
        subject=either.subject if either else "",
        before=before.word if before else None,
        after=after.word if after else None,
        count_before=before.count if before else None,
        count_after=after.count if after else None,
        fingerprints=dict(fingerprints),
    )


def is_failure(difference: VerdictCompared) -> bool:
    """Returns True for a new violation that is not in the later run's baseline (file of known
    violations).
    """
    return difference.change == NEW and difference.after == "violated"
