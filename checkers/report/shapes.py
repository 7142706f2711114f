"""Computes fingerprints of violations: hashes that are equal in every recording of the same bug.

The fingerprint is a hash of the claim or anomaly, the spec and its variant, and the *shape* of the
violation. The shape omits what differs from recording to recording: topics, keys, values, offsets,
times and counts. Each line has a kind of violation, and the parts of it that are its shape:

    an occurrence of an anomaly   the operations that cause it, by role: kind and outcome
    a dependency cycle            the kinds of its edges
    a trace of a spec             the action that violates the property
    a suite, a log audit          the text of the reason, without names and numbers

Two different bugs may have equal fingerprints.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass, field, fields, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from checkers.events import AnomalyDecided, Event, Evidence, PropertyDecided, RowShown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from model.histories import Operation
    from properties.anomalies.anomaly import Row

DIGITS: Final = 16  # of a fingerprint, in hexadecimal
NOT_SHOWN: Final = "no evidence"
ALIKE: Final = "all violations"  # of an anomaly whose rows name witnesses only
# Operations that only show a violation: which of several does so differs between recordings.
WITNESSES: Final = frozenset({"known", "seen by", "shown", "shown by", "tried by"})
_OPERATION: Final = re.compile(r"(?:(.+)_)?ops?|(.+_by)")
_INSTANCE: Final = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|[\w./:@=-]*\d[\w./:,@=-]*")
_AGAIN: Final = re.compile(r"#(?:,? #)+")


def fingerprint(*content: str | None) -> str:
    """Returns a hash of the texts as 16 hexadecimal digits. None has the same effect as an empty
    text.
    """
    joined = "\n".join(part or "" for part in content)
    return hashlib.sha256(joined.encode(errors="backslashreplace")).hexdigest()[:DIGITS]


def shape_of_row(row: Row, operations: Mapping[int, Operation]) -> str:
    """Returns the shape of an occurrence of an anomaly, such as `writer: send ok; reader: poll ok`.

    Operations that only witness the anomaly are omitted. If no operation remains, the shape is
    `all violations`.

    The shape of a cycle has the kinds of its edges, such as `cycle: wr, ww`. A cycle can be read
    from any of its edges, so the alphabetically first of these readings is used.
    """
    made: Any = row
    kinds: tuple[str, ...] | None = getattr(made, "kinds", None)
    if kinds is not None:
        return f"cycle: {', '.join(min(kinds[n:] + kinds[:n] for n in range(len(kinds))))}"
    parts = (
        f"{role}: {' + '.join(sorted(done))}"
        for role, ops in _roles(made)
        if (done := {_done(operations[op]) for op in ops if op in operations})
    )
    return "; ".join(parts) or ALIKE


def _roles(row: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    for one in fields(row):
        if found := _OPERATION.fullmatch(one.name):
            cell = getattr(row, one.name)
            role = (found[1] or found[2] or "operation").replace("_", " ")
            if role not in WITNESSES:
                yield role, cell if isinstance(cell, tuple) else (cell,)


def _done(operation: Operation) -> str:
    return f"{operation.f} {operation.outcome}"


def shape_of_trace(actions: Sequence[str], loop: int | None = None) -> str:
    """Returns the shape of a trace as text.

    The shape of a lasso has the actions that repeat forever. If no action repeats, it has the last
    action, after which the trace stops. The shape of any other trace has its last action.

    `loop` is the step after which a lasso repeats, or None if the trace is not a lasso.

    >>> shape_of_trace(["init", "leader_write", "become_follower"])
    'after become_follower'
    >>> shape_of_trace(["init", "a", "c", "b", "c"], loop=1)
    'forever b, c'
    >>> shape_of_trace(["init", "a"], loop=1)
    'stops after a'
    """
    if loop is None or not actions:
        return f"after {actions[-1]}" if actions else ""
    repeated = sorted(set(actions[loop + 1 :]))
    return f"forever {', '.join(repeated)}" if repeated else f"stops after {actions[-1]}"


def shape_of_text(text: str) -> str:
    """Returns the first line of a text, without its specific values.

    Each number, each quoted text and each word with a digit is replaced by `#`. A list such as
    `#, #` becomes one `#`.

    >>> shape_of_text("v17 is downstream 2 times")
    '# is downstream # times'
    >>> shape_of_text("reads v0, v1, v1 at offset 0, 2, 6 of orders-0")
    'reads # at offset # of #'
    """
    first = text.strip().partition("\n")[0]
    return _AGAIN.sub("#", _INSTANCE.sub("#", first))


@dataclass(slots=True)
class Fingerprints:
    """Adds fingerprints to the events of a run. The object must be called with each event, in
    the order of the run.
    """

    _rows: dict[tuple[str, str | None], dict[str, str]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _shapes: dict[str, str] = field(default_factory=dict[str, str])  # by property

    def __call__(self, event: Event) -> Event:
        """Returns the event. If the event reports a violation, the fingerprint is added to it."""
        match event:
            case RowShown():
                shape = event.shape or shape_of_text(event.text)
                print_ = fingerprint(event.anomaly, shape)
                self._rows[event.anomaly, event.history].setdefault(print_, shape)
                return replace(event, shape=shape, fingerprint=print_)
            case Evidence(shape=shape) if shape:
                self._shapes[event.about] = shape
            case PropertyDecided():
                shape = self._shapes.pop(event.property, "")
                if event.verdict == "violated":
                    shape = shape or shape_of_text(event.reason or "") or NOT_SHOWN
                    print_ = fingerprint(event.property, _spec(event.spec), _setting(event), shape)
                    return replace(event, fingerprints={print_: shape})
            case AnomalyDecided(verdict="violated"):
                shapes = self._rows.pop((event.anomaly, event.history), {})
                found = shapes or {fingerprint(event.anomaly, NOT_SHOWN): NOT_SHOWN}
                return replace(event, fingerprints=found)
            case _:
                pass
        return event


def _spec(spec: str | None) -> str | None:
    return PurePath(spec).name if spec is not None else None


def _setting(decision: PropertyDecided) -> str | None:
    # A known violation stays known on the next release, and at another address.
    if decision.system is None or decision.variant is None:
        return decision.variant
    return decision.variant.removesuffix(decision.system).removesuffix(", ")
