"""The drawing of a cycle has a box for each operation and an arrow for each edge."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.events import EdgeShown
from checkers.report.cycle_drawing import BOX, DRAWN, cycle_drawing

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def around(*ops: int, kind: str = "ww", says: str = "") -> list[EdgeShown]:
    return [
        EdgeShown(source=a, target=b, kind=kind, reason=says)
        for a, b in zip(ops, [*ops[1:], ops[0]], strict=True)
    ]


def groups(svg: str, kind: str) -> list[Element]:
    every = ElementTree.fromstring(svg).iter("g")
    return [one for one in every if kind in one.attrib["class"].split()]


def box(group: Element) -> tuple[float, float]:
    rect = group.find("rect")
    assert rect is not None
    return float(rect.attrib["x"]), float(rect.attrib["y"])


def test_two_operations_that_precede_each_other_are_drawn() -> None:
    svg = cycle_drawing(
        [
            EdgeShown(source=7, target=4, kind="ww", reason="k: a before b"),
            EdgeShown(source=4, target=7, kind="wr", reason="j: c"),
        ],
        {7: "txn k=a", 4: "txn k=b"},
        title="G1c, row 1",
    )
    boxes = [[text.text for text in one.iter("text")] for one in groups(svg, "operation")]
    assert boxes == [["T1  operation 7", "txn k=a"], ["T2  operation 4", "txn k=b"]]
    assert [one.findtext("text") for one in groups(svg, "edge")] == ["ww k: a before b", "wr j: c"]
    assert ElementTree.fromstring(svg).findtext("title") == "G1c, row 1"


@pytest.mark.parametrize("many", range(2, DRAWN + 1))
def test_boxes_do_not_cover_each_other(many: int) -> None:
    svg = cycle_drawing(around(*range(many)), {})
    places = [box(one) for one in groups(svg, "operation")]
    assert len(places) == many
    for (x1, y1), (x2, y2) in combinations(places, 2):
        assert abs(x1 - x2) >= BOX[0] or abs(y1 - y2) >= BOX[1]


def test_a_long_cycle_shows_its_first_operations_and_counts_the_others() -> None:
    svg = cycle_drawing(around(*range(40)), {})
    assert len(groups(svg, "operation")) == DRAWN
    assert "28 more operations between T12 and T1" in svg


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 100), min_size=2, max_size=15, unique=True),
    st.text(max_size=60),
    st.sampled_from(["ww", "wr", "rw", "process", "realtime"]),
)
def test_any_cycle_is_drawn_within_its_frame(ops: list[int], text: str, kind: str) -> None:
    svg = cycle_drawing(around(*ops, kind=kind, says=text), dict.fromkeys(ops, text))
    picture = ElementTree.fromstring(svg)
    wide, high = float(picture.attrib["width"]), float(picture.attrib["height"])
    for one in groups(svg, "operation"):
        x, y = box(one)
        assert 0 <= x <= wide - BOX[0]
        assert 0 <= y <= high - BOX[1]
    for one in groups(svg, "edge"):
        label = one.find("text")
        assert label is not None
        x, long = float(label.attrib["x"]), 6.3 * len(label.text or "")
        before = {"start": 0.0, "middle": long / 2, "end": long}[label.attrib["text-anchor"]]
        assert 0 <= x - before <= x - before + long <= wide
        assert 0 <= float(label.attrib["y"]) <= high
