"""Draws operations in time as SVG. The lanes are processes, the bars are operations, and the bands
are faults:

    process 3   ▕▔▔▔ 12 send k=b -> ok @1 ▔▔▔▏
    process 5           ▕▔ 14 poll -> ok k=c@2 ▔▔▔▔▔▔▏

A bar ends at the completion of its operation. If the operation never completed, the bar ends at the
right edge. Time is not to scale: `//` marks a shortened pause.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from checkers.report.markup import element, shortened, words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from checkers.events import FaultShown, OperationShown

LANES: Final = 8
LANE: Final = 46.0  # px
BAR: Final = 14.0
MARGIN: Final = 92.0  # for the names of processes
TOP: Final = 26.0
FOOT: Final = 40.0
NARROW: Final = 12.0  # px between two moments, at least and at most
WIDE: Final = 64.0
WIDTH: Final = 1_040.0  # px of the picture, unless it would shrink below SQUEEZE
SQUEEZE: Final = 0.7
CHARACTER: Final = 6.3  # px, of the labels' font
THIN: Final = 3.0  # px of a band at least
TAIL: Final = 30.0  # px after the last moment, for operations that never completed
NS_PER_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Axis:
    """Maps a time in ns to a position in px. The times in `moments` have fixed positions, and
    times between them are interpolated linearly.
    """

    moments: tuple[int, ...]  # ns
    places: tuple[float, ...]  # px
    breaks: tuple[float, ...]  # px: where a pause was cut short

    def __call__(self, at_ns: int) -> float:
        right = bisect_left(self.moments, at_ns)
        if right == 0:
            return self.places[0]
        if right == len(self.moments):
            return self.end
        (a, b), (x, y) = self.moments[right - 1 : right + 1], self.places[right - 1 : right + 1]
        return x + (y - x) * (at_ns - a) / (b - a)

    @property
    def end(self) -> float:
        return self.places[-1] + TAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    svg: str
    left_out: int


def timeline(
    operations: Sequence[OperationShown],
    marked: Collection[int],
    faults: Sequence[FaultShown] = (),
    *,
    title: str = "",
) -> Timeline:
    """Returns the operations as SVG, in a lane for each process. At most eight processes are drawn.

    `marked` has the numbers of the operations that show the anomaly.
    """
    lanes = _lanes(operations, marked)
    drawn = [one for one in operations if one.process in lanes]
    axis = _axis(drawn)
    bottom = TOP + LANE * len(lanes)
    parts = [
        element("title", words(title)),
        *_bands(faults, axis, bottom),
        *_lane_names(lanes, axis),
        *_times([one for one in drawn if one.op in marked], axis, bottom),
        *_bars(drawn, marked, lanes, axis),
    ]
    width, height = axis.end + 8, bottom + FOOT
    svg = element(
        "svg",
        *parts,
        class_="timeline",
        role="img",
        aria_label=title or "operations in time",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
    )
    numbers = [one.op for one in drawn]
    between = max(numbers) - min(numbers) + 1 if numbers else 0
    return Timeline(svg=svg, left_out=between - len(set(numbers)))


def _lanes(operations: Sequence[OperationShown], marked: Collection[int]) -> dict[int, int]:
    def rank(process: int) -> tuple[bool, int, int]:
        own = [one for one in operations if one.process == process]
        busy = sum(one.relevant for one in own)
        return not any(one.op in marked for one in own), -busy, process

    chosen = sorted({one.process for one in operations}, key=rank)[:LANES]
    return {process: lane for lane, process in enumerate(sorted(chosen))}


def _axis(operations: Sequence[OperationShown]) -> _Axis:
    times = {one.invoked_ns for one in operations}
    times |= {one.completed_ns for one in operations if one.completed_ns is not None}
    moments = sorted(times) or [0]
    gaps = [b - a for a, b in pairwise(moments)]
    usual = sorted(gaps)[len(gaps) // 2] if gaps else 1
    wanted = [NARROW * 1.5 * math.log2(1 + gap / usual) for gap in gaps]
    bounded = [min(WIDE, max(NARROW, one)) for one in wanted]
    stretch = max(SQUEEZE, (WIDTH - MARGIN - TAIL) / sum(bounded)) if bounded else 1.0
    places = [MARGIN]
    for one in bounded:
        places.append(places[-1] + one * stretch)
    breaks = [(places[n] + places[n + 1]) / 2 for n, one in enumerate(wanted) if one > WIDE * 1.25]
    return _Axis(tuple(moments), tuple(places), tuple(breaks))


def _bands(faults: Sequence[FaultShown], axis: _Axis, bottom: float) -> Iterator[str]:
    taken = 0.0
    for fault in sorted(faults, key=lambda one: one.from_ns):
        left = min(axis(fault.from_ns), axis.end - THIN)
        ended = axis.end if fault.until_ns is None else axis(fault.until_ns)
        right = max(ended, left + THIN)
        band = element(
            "rect", x=left, y=4.0, width=right - left, height=bottom - 4, class_="fault-band"
        )
        named = []
        if left >= taken:
            named = [
                element("text", words(fault.description), x=left + 3, y=15.0, class_="fault-name")
            ]
            taken = left + 12 + CHARACTER * len(fault.description)
        yield element("g", element("title", words(_lasted(fault))), band, *named, class_="fault")


def _lasted(fault: FaultShown) -> str:
    until = "to the end" if fault.until_ns is None else f"until {at(fault.until_ns)}"
    return f"{fault.description}: from {at(fault.from_ns)} {until}"


def at(time_ns: int) -> str:
    """Returns a time as text in ms. It has six decimals below 1 ms, and three decimals otherwise.

    >>> at(15), at(1_234_567_890)
    ('0.000015 ms', '1,234.568 ms')
    """
    ms = time_ns / NS_PER_MS
    return f"{ms:,.3f} ms" if abs(ms) >= 1 else f"{ms:.6f} ms"


def _lane_names(lanes: Mapping[int, int], axis: _Axis) -> Iterator[str]:
    for process, lane in lanes.items():
        y = TOP + LANE * lane + LANE - BAR / 2 - 6
        yield element("line", x1=MARGIN, x2=axis.end, y1=y, y2=y, class_="lane")
        yield element("text", words(f"process {process}"), x=4.0, y=y + 4, class_="process")


def _times(marked: Sequence[OperationShown], axis: _Axis, bottom: float) -> Iterator[str]:
    ends = {one.invoked_ns for one in marked}
    ends |= {one.completed_ns for one in marked if one.completed_ns is not None}
    free = [0.0, 0.0]
    for place in axis.breaks:
        yield element("text", words("//"), x=place, y=bottom + 4, class_="break")
    for moment in sorted(ends):
        x, text = axis(moment), at(moment)
        yield element("line", x1=x, x2=x, y1=TOP, y2=bottom + 6, class_="guide")
        half = CHARACTER * len(text) / 2
        centre = min(max(x, half + 2), axis.end - half)
        row = next((n for n, taken in enumerate(free) if centre - half >= taken), None)
        if row is not None:
            free[row] = centre + half + 6
            yield element("text", words(text), x=centre, y=bottom + 18 + 14 * row, class_="time")


def _bars(
    drawn: Sequence[OperationShown],
    marked: Collection[int],
    lanes: Mapping[int, int],
    axis: _Axis,
) -> Iterator[str]:
    labels = _labels(drawn, marked, axis)
    for one in drawn:
        top = TOP + LANE * lanes[one.process] + LANE - BAR - 6
        left = axis(one.invoked_ns)
        ended = axis.end if one.completed_ns is None else axis(one.completed_ns)
        kind = [one.outcome, "of-row" if one.op in marked else "" if one.relevant else "other"]
        bar = element(
            "rect",
            x=left,
            y=top,
            width=max(ended - left, 5.0),
            height=BAR,
            rx=3.0,
            class_="bar" if one.completed_ns is not None else "bar open",
        )
        label = labels.get(one.op)
        text = (
            [element("text", words(label[1]), x=label[0], y=top - 5 - 12 * label[2])]
            if label
            else []
        )
        title = f"operation {one.op}, process {one.process}: {one.text}  [{_span(one)}]"
        yield element(
            "g",
            element("title", words(title)),
            bar,
            *text,
            class_=" ".join(filter(None, ["operation", *kind])),
            data_op=str(one.op),
        )


def _span(one: OperationShown) -> str:
    ended = "never" if one.completed_ns is None else at(one.completed_ns)
    return f"{at(one.invoked_ns)} .. {ended}"


def _labels(
    drawn: Sequence[OperationShown], marked: Collection[int], axis: _Axis
) -> dict[int, tuple[float, str, int]]:
    taken: dict[tuple[int, int], list[tuple[float, float]]] = {}
    placed: dict[int, tuple[float, str, int]] = {}
    for one in sorted(drawn, key=lambda one: (one.op not in marked, one.invoked_ns)):
        if not one.relevant and one.op not in marked:
            continue
        text = shortened(f"{one.op} {one.label}", 48 if one.op in marked else 26)
        wide = CHARACTER * len(text)
        left = max(MARGIN, min(axis(one.invoked_ns), axis.end - wide))
        for row in (0, 1):
            others = taken.setdefault((one.process, row), [])
            if all(left >= end or left + wide <= start for start, end in others):
                others.append((left - 6, left + wide + 6))
                placed[one.op] = left, text, row
                break
    return placed
