"""Draws a counterexample as a space-time diagram. The lanes are replicas or clients, and the dots
are steps:

       leader_write
    b0   ──●────────────●──────────○──▶
                        │      shrink_isr
    b1   ───────────────●──────────◎──▶
                    replicate

The lanes are the elements of the type that occurs most often as a parameter of actions. A step is a
dot on the lane of its first parameter. Lines lead from this dot to smaller dots on the lanes of the
step's other parameters. A hollow dot marks another lane whose state the step changes. A ring marks
the last step of a violation. An arc marks the loop of a liveness counterexample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from checkers.explicit.exploration import Discovery, Step
from checkers.report.markup import element, shortened, words
from model.language import terms as t
from model.language.scope import Ranges
from model.language.spec import Action, Spec
from model.language.values import Writer

MARGIN: Final = 92.0  # px, for the names of lanes
STEP: Final = 148.0
LANE: Final = 58.0
TOP: Final = 34.0
FOOT: Final = 46.0
LONGEST: Final = 21  # characters of a label
ELSE: Final = -1  # the lane of steps without a parameter of the lanes' sort

STYLE: Final = """
.space-time { font: 11px ui-monospace, monospace; fill: CanvasText; color-scheme: light dark }
.space-time .lane { stroke: CanvasText; opacity: .35 }
.space-time .way { stroke: #4878d0; fill: none; stroke-width: 1.5 }
.space-time .step { fill: #4878d0; stroke: #4878d0 }
.space-time .changed { fill: Canvas; stroke: #4878d0; stroke-width: 1.5 }
.space-time .ring { fill: none; stroke: #d1495b; stroke-width: 2.5 }
.space-time .loop { fill: none; stroke: #d1495b; stroke-dasharray: 4 3 }
.space-time .number { opacity: .6 }
"""


def space_time(spec: Spec, ranges: Ranges, discovery: Discovery) -> str:
    return _Drawing(spec, ranges, discovery).svg()


class _Drawing:
    def __init__(self, spec: Spec, ranges: Ranges, discovery: Discovery) -> None:
        self.spec, self.discovery, self.trace = spec, discovery, discovery.trace
        self.writer = Writer(spec, ranges)
        self.actions = {action.name: action for action in spec.actions}
        self.sort = self._lane_sort()
        self.lanes = [*(ranges[self.sort] if self.sort else ())]
        named = [self._named(self.actions.get(step.action), step) for step in self.trace[1:]]
        if not self.lanes or not all(named):
            self.lanes.insert(0, ELSE)

    def _lane_sort(self) -> str:
        used = Counter(p.sort.name for a in self.spec.actions for p in a.params)
        keyed = Counter(k.name for v in self.spec.variables for k in v.keys)
        plain = [n for n, sort in self.spec.sorts.items() if sort.flavour == "sort"]
        return max(plain, key=lambda n: (used[n], keyed[n]), default="")

    def svg(self) -> str:
        width = MARGIN + STEP * len(self.trace) + 20
        height = TOP + LANE * len(self.lanes) + FOOT
        title = f"{self.discovery.claim.name}: the steps that break it"
        return element(
            "svg",
            element("title", words(title)),
            element("style", words(STYLE)),
            *self._lanes(width),
            *(part for k in range(1, len(self.trace)) for part in self._step(k)),
            *self._end(),
            xmlns="http://www.w3.org/2000/svg",
            class_="space-time",
            role="img",
            aria_label=title,
            viewBox=f"0 0 {width:.0f} {height:.0f}",
            width=width,
            height=height,
        )

    def _x(self, k: float) -> float:
        return MARGIN + STEP * (k - 0.5)

    def _y(self, lane: int) -> float:
        return TOP + LANE * (self.lanes.index(lane) + 0.5)

    def _lanes(self, width: float) -> Iterator[str]:
        for lane in self.lanes:
            y = self._y(lane)
            name = "everyone" if lane == ELSE else f"{self.writer.prefix(self.sort)}{lane}"
            yield element("line", x1=MARGIN - 30, x2=width - 8, y1=y, y2=y, class_="lane")
            yield element("text", words(name), x=4.0, y=y + 4)

    # ---- steps

    def _step(self, k: int) -> Iterator[str]:
        step, x = self.trace[k], self._x(k)
        action = self.actions.get(step.action)
        first, *others = self._named(action, step) or [ELSE]
        y = self._y(first)
        yield element("text", words(str(k)), x=x, y=TOP - 12, text_anchor="middle", class_="number")
        for lane in others:
            yield element("path", d=f"M{x:.1f},{y:.1f} L{x:.1f},{self._y(lane):.1f}", class_="way")
        for lane in sorted(self._changed(k) - {first, *others}):
            yield self._dot(x, lane, "changed", 5.0)
        for lane in others:
            yield self._dot(x, lane, "step", 3.5)
        call = self.writer.call(action, step.values) if action else step.action
        tooltip = "\n".join([f"{k}. {call}", *self._changes(k)])
        above = any(self._y(lane) < y for lane in others)
        label = element(
            "text",
            words(shortened(step.action, LONGEST)),
            x=x,
            y=y + 20 if above else y - 10,
            text_anchor="middle",
        )
        yield element(
            "g", element("title", words(tooltip)), self._dot(x, first, "step", 5.5), label
        )

    def _dot(self, x: float, lane: int, kind: str, radius: float) -> str:
        return element("circle", cx=x, cy=self._y(lane), r=radius, class_=kind)

    def _named(self, action: Action | None, step: Step) -> list[int]:
        params: tuple[t.Local, ...] = action.params if action else ()
        named = zip(params, step.values, strict=True) if action else ()
        return list(dict.fromkeys(v for p, v in named if p.sort.name == self.sort))

    def _changed(self, k: int) -> set[int]:
        before, after = self.trace[k - 1].state, self.trace[k].state
        first = {v.name: v.keys[0].name for v in self.spec.variables if v.keys}
        return {
            keys[0]
            for name, keys in after
            if first.get(name) == self.sort and before[name, keys] != after[name, keys]
        }

    def _changes(self, k: int) -> list[str]:
        before, after = list(pairwise(self.trace))[k - 1]
        changes = self.writer.changes(before.state, after.state)
        return [f"{place}: {', '.join(fields)}" for place, fields in changes]

    # ---- the end

    def _end(self) -> Iterator[str]:
        last = len(self.trace) - 1
        lane = (self._named(self.actions.get(self.trace[last].action), self.trace[last]) or [ELSE])[
            0
        ]
        y = TOP + LANE * len(self.lanes) + 4
        if last:
            yield element("circle", cx=self._x(last), cy=self._y(lane), r=10.0, class_="ring")
        loop = self.discovery.loop
        if loop is None:
            return
        x, back = self._x(max(last, 1)), self._x(max(loop, 0.5)) if loop < last else 0.0
        if loop < last:
            bend = (
                f"M{x:.1f},{y:.1f} C{x:.1f},{y + 30:.1f} {back:.1f},{y + 30:.1f} {back:.1f},{y:.1f}"
            )
            yield element("path", d=bend, class_="loop")
        text = (
            f"and so on for ever, as after step {loop}" if loop < last else "nothing more happens"
        )
        yield element("text", words(text), x=x, y=y + 38, text_anchor="end")
