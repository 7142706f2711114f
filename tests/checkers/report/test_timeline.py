"""The timeline draws bars at the operations' times and counts the operations that it omits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.events import FaultShown, OperationShown
from checkers.report.timeline import LANES, timeline
from model.history_notation import history, show

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MS: Final = 1_000_000


def operations(text: str) -> tuple[OperationShown, ...]:
    return tuple(
        OperationShown(
            op=op,
            process=it.process,
            outcome=it.outcome,
            invoked_ns=it.invoked_ns,
            completed_ns=it.completed_ns,
            text=show(it),
            label=f"{it.f} {op}",
        )
        for op, it in enumerate(history(text))
    )


STALE = operations("""
    p1  send k=a      -> ok @0
    p2  send k=b      ...
    p1  send k=c      -> ok @2
    p2  ...           -> ok @1
    c1  end_offset k  -> ok @2
    p3  send k=d      -> fail
    p1  send k=e      -> never
""")


def drawn(svg: str, kind: str) -> list[Element]:
    every = ElementTree.fromstring(svg).iter("g")
    return [one for one in every if kind in one.attrib.get("class", "").split()]


def left_and_right(group: Element) -> tuple[float, float]:
    bar = group.find("rect")
    assert bar is not None
    return float(bar.attrib["x"]), float(bar.attrib["x"]) + float(bar.attrib["width"])


def test_each_operation_is_a_bar_with_its_text() -> None:
    svg = timeline(STALE, {2, 3}, title="a stale end").svg
    shown = {one.attrib["data-op"]: one for one in drawn(svg, "operation")}
    assert shown.keys() == {"0", "1", "2", "3", "4", "5"}
    assert shown["3"].findtext("title") == (
        "operation 3, process 2: end_offset k -> ok @2  [0.000050 ms .. 0.000055 ms]"
    )
    assert {op for op, one in shown.items() if "of-row" in one.attrib["class"]} == {"2", "3"}
    assert "fail" in shown["4"].attrib["class"]
    assert ElementTree.fromstring(svg).findtext("title") == "a stale end"


def test_bars_lie_in_the_order_of_real_time() -> None:
    svg = timeline(STALE, {2, 3}).svg
    at = {one.attrib["data-op"]: left_and_right(one) for one in drawn(svg, "operation")}
    assert at["0"][1] <= at["2"][0] < at["1"][0] < at["1"][1] < at["2"][1] < at["3"][0]


def test_an_operation_that_never_completed_reaches_the_edge() -> None:
    svg = timeline(STALE, {5}).svg
    at = {one.attrib["data-op"]: left_and_right(one) for one in drawn(svg, "operation")}
    assert at["5"][1] > max(right for op, (_, right) in at.items() if op != "5")
    assert 'class="bar open"' in svg


def test_a_fault_is_a_band_over_its_time() -> None:
    faults = (
        FaultShown(description="kill broker 1", from_ns=20, until_ns=35),
        FaultShown(description="pause broker 2", from_ns=50),
    )
    svg = timeline(STALE, {3}, faults).svg
    kill, pause = drawn(svg, "fault")
    at = {one.attrib["data-op"]: left_and_right(one) for one in drawn(svg, "operation")}
    assert kill.findtext("title") == "kill broker 1: from 0.000020 ms until 0.000035 ms"
    assert left_and_right(kill) == pytest.approx((at["2"][0], at["1"][1]), abs=0.2)
    assert pause.findtext("title") == "pause broker 2: from 0.000050 ms to the end"
    assert left_and_right(pause) == pytest.approx((at["3"][0], at["5"][1]), abs=0.2)


def test_a_pause_that_is_cut_short_breaks_the_axis() -> None:
    far = operations("p1 send k=a -> ok @0\n" + "\n" * 500 + "p1 send k=b -> ok @1")
    near = operations("p1 send k=a -> ok @0\np1 send k=b -> ok @1")
    assert 'class="break"' in timeline(far, {0, 1}).svg
    assert 'class="break"' not in timeline(near, {0, 1}).svg


def test_of_many_lanes_those_of_the_row_are_drawn_and_others_are_counted() -> None:
    many = operations("\n".join(f"p{n} send k=v{n} -> ok @{n}" for n in range(30)))
    made = timeline(many, {0, 29})
    shown = [int(one.attrib["data-op"]) for one in drawn(made.svg, "operation")]
    assert len(shown) == LANES
    assert {0, 29} <= set(shown)
    assert made.left_out == 30 - LANES


def test_operations_of_the_same_time_that_are_not_drawn_are_counted() -> None:
    first, *_, last = operations("\n".join(f"p1 send k=v{n} -> ok @{n}" for n in range(30)))
    assert timeline((first, last), {0, 29}).left_out == 28


def test_labels_of_the_row_are_there_and_none_covers_another() -> None:
    many = operations("\n".join(f"p1 send k=v{n} -> ok @{n}" for n in range(20)))
    svg = timeline(many, {9, 10}).svg
    spans: dict[str, list[tuple[float, float]]] = {}
    for one in drawn(svg, "operation"):
        text = one.find("text")
        if text is not None:
            left = float(text.attrib["x"])
            spans.setdefault(text.attrib["y"], []).append((left, left + 6 * len(text.text or "")))
    counts = re.findall(r">(\d+) send", svg)
    assert {"9", "10"} <= set(counts)
    for row in spans.values():
        for (_, end), (start, _) in zip(sorted(row), sorted(row)[1:], strict=False):
            assert end <= start


TIME_NS = st.integers(0, 10**12)
SHOWN = st.builds(
    lambda op, process, invoked, lasted, text: OperationShown(
        op=op,
        process=process,
        outcome="info" if lasted is None else "ok",
        invoked_ns=invoked,
        completed_ns=None if lasted is None else invoked + lasted,
        text=text,
        label=text,
    ),
    st.integers(0, 50),
    st.integers(0, 12),
    TIME_NS,
    st.none() | st.integers(0, 10**10),
    st.text(max_size=30),
)


@settings(deadline=None)
@given(
    st.lists(SHOWN, max_size=20, unique_by=lambda one: one.op),
    st.lists(
        st.builds(FaultShown, description=st.text(), from_ns=TIME_NS, until_ns=st.none() | TIME_NS),
        max_size=3,
    ),
)
def test_any_operations_and_faults_are_a_picture_within_its_frame(
    shown: list[OperationShown], faults: list[FaultShown]
) -> None:
    made = timeline(shown, {one.op for one in shown[:3]}, faults)
    picture = ElementTree.fromstring(made.svg)
    wide = float(picture.attrib["width"])
    for one in [*drawn(made.svg, "operation"), *drawn(made.svg, "fault")]:
        left, right = left_and_right(one)
        assert 0 <= left < right <= wide + 8
    for text in picture.iter("text"):
        assert 0 <= float(text.attrib["x"]) <= wide
    assert made.left_out >= 0
