"""Draws a dependency cycle as SVG: its operations in a circle, and an arrow for each dependency.
The label of an arrow has the kind of the dependency and its reason, as in this drawing of a cycle
of two operations:

    T1 ──ww k──▶ T2
     ▲            │
     └──wr k──────┘

If a cycle is long, only its first operations are drawn, and the number of the remaining operations
is printed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from checkers.report.markup import element, readable, shortened, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from checkers.events import EdgeShown

DRAWN: Final = 12  # operations
BOX: Final = (210.0, 44.0)  # px
MARGIN: Final = 16.0
LONGEST: Final = 40  # characters of a reason
CHARACTER: Final = 6.3  # px
Point = tuple[float, float]


def cycle_drawing(edges: Sequence[EdgeShown], texts: Mapping[int, str], *, title: str = "") -> str:
    """Returns a dependency cycle as SVG. `texts` maps the number of an operation to its text."""
    order = list(dict.fromkeys(edge.source for edge in edges))
    drawn = order[:DRAWN]
    names = {op: f"T{n}" for n, op in enumerate(order, 1)}
    centres, (width, height) = _circle(drawn)
    parts = [element("title", words(title))]
    inside = (edge for edge in edges if {edge.source, edge.target} <= centres.keys())
    parts += [_arrow(edge, centres) for edge in inside]
    parts += [_box(op, names[op], texts.get(op, ""), centres[op]) for op in drawn]
    if len(order) > DRAWN:
        left_out = f"{len(order) - DRAWN} more operations between {names[drawn[-1]]} and T1"
        parts.append(element("text", words(left_out), x=width / 2, y=height / 2, class_="left-out"))
    return element(
        "svg",
        *parts,
        class_="cycle",
        role="img",
        aria_label=title or "a cycle of operations",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
    )


def _circle(ops: Sequence[int]) -> tuple[dict[int, Point], Point]:
    """Returns the centre of the box of each operation, and the size of the picture, in px."""
    many = max(len(ops), 2)
    across = max(190.0, 46.0 * many), 30.0 * many  # px from the centre
    labels = 0.0 if many == 2 else CHARACTER * LONGEST / 2 + 24.0  # px left and right
    width = 2 * (across[0] + BOX[0] / 2 + MARGIN + labels)
    height = 2 * (across[1] + BOX[1] / 2 + 2 * MARGIN)
    centres: dict[int, Point] = {}
    for n, op in enumerate(ops):
        turn = 2 * math.pi * n / many - (math.pi / 2 if many != 2 else math.pi)
        centres[op] = (
            width / 2 + across[0] * math.cos(turn),
            height / 2 + across[1] * math.sin(turn),
        )
    return centres, (width, height)


def _arrow(edge: EdgeShown, centres: Mapping[int, Point]) -> str:
    start, end = centres[edge.source], centres[edge.target]
    along = end[0] - start[0], end[1] - start[1]
    length = math.hypot(*along) or 1.0
    bow = min(56.0, length / 5) / length  # outwards is left of a clockwise edge
    bend = (start[0] + end[0]) / 2 + bow * along[1], (start[1] + end[1]) / 2 - bow * along[0]
    a, b = _border(start, bend), _border(end, bend)
    peak = (a[0] + 2 * bend[0] + b[0]) / 4, (a[1] + 2 * bend[1] + b[1]) / 4
    out = along[1] / length, -along[0] / length
    side = "start" if out[0] > 0.1 else "end" if out[0] < -0.1 else "middle"
    label = peak[0] + 8 * out[0], peak[1] + 4 + 11 * out[1]
    curve = f"M{_at(a)} Q{_at(bend)} {_at(b)}"
    text = shortened(readable(" ".join(filter(None, (edge.kind, edge.reason)))), LONGEST)
    return element(
        "g",
        element("title", words(f"{edge.kind} {edge.reason}".strip())),
        element("path", d=curve, class_="way"),
        element("path", d=_tip(bend, b), class_="tip"),
        element("text", words(text), x=label[0], y=label[1], text_anchor=side),
        class_=f"edge {edge.kind}",
    )


def _tip(origin: Point, tip: Point) -> str:
    turn = math.atan2(tip[1] - origin[1], tip[0] - origin[0])
    back = [
        (tip[0] - 9 * math.cos(turn + side), tip[1] - 9 * math.sin(turn + side))
        for side in (-0.45, 0.45)
    ]
    return f"M{_at(tip)} L{_at(back[0])} L{_at(back[1])} z"


def _at(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _border(centre: Point, towards: Point) -> Point:
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    scale = min(
        BOX[0] / 2 / abs(dx) if dx else math.inf, BOX[1] / 2 / abs(dy) if dy else math.inf, 1.0
    )
    return centre[0] + dx * scale, centre[1] + dy * scale


def _box(op: int, name: str, text: str, centre: Point) -> str:
    left, top = centre[0] - BOX[0] / 2, centre[1] - BOX[1] / 2
    return element(
        "g",
        element("title", words(f"{name} is operation {op}: {text}")),
        element("rect", x=left, y=top, width=BOX[0], height=BOX[1], rx=6.0),
        element(
            "text", words(f"{name}  operation {op}"), x=centre[0], y=centre[1] - 4, class_="name"
        ),
        element("text", words(shortened(readable(text), 32)), x=centre[0], y=centre[1] + 13),
        class_="operation ok of-row",
        data_op=str(op),
    )
