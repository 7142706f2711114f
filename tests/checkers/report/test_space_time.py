"""The space-time diagram of a counterexample has a lane for each broker and a dot for each step."""

from __future__ import annotations

from xml.etree import ElementTree

from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from checkers.report.space_time import space_time
from model.language.interpreter import Interpreter
from model.specs import find
from tests.checkers.explicit.test_liveness import HighWatermark, Lamp

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [x.text or "" for x in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def of_class(svg: str, name: str) -> list[ElementTree.Element]:
    return [x for x in ElementTree.fromstring(svg).iter() if x.get("class") == name]


def test_each_broker_has_a_lane_and_each_step_a_dot() -> None:
    spec = find("replication", "truncate-to-hw").make({"replicas": 2, "max_leader_epoch": 2})
    found = explore(spec, properties=["weak_isr"])
    svg = space_time(spec, found.ranges, found.discoveries["weak_isr"])
    shown = texts(svg)
    assert shown[:2] == ["b0", "b1"]
    assert {"1", "8", "leader_write", "follower_replicate"} <= set(shown)
    assert len(of_class(svg, "lane")) == 2
    assert len(of_class(svg, "way")) == 3  # become_follower twice, follower_replicate once
    (ring,) = of_class(svg, "ring")
    last = of_class(svg, "step")[-1]
    assert (ring.get("cx"), ring.get("cy")) == (last.get("cx"), last.get("cy"))
    titles = [x.text or "" for x in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    assert "6. follower_replicate(b1, b0)\nlog[b1]: end_offset 0 → 1" in "\n".join(titles)


def test_a_behaviour_that_stops_and_one_that_loops_are_drawn() -> None:
    stops = decide(HighWatermark(), ["every_record_is_committed"])["every_record_is_committed"]
    svg = space_time(HighWatermark(), Interpreter.of(HighWatermark()).ranges, stops)
    assert "nothing more happens" in texts(svg)
    assert of_class(svg, "loop") == []
    around = decide(Lamp(), ["is_done"])["is_done"]
    svg = space_time(Lamp(), Interpreter.of(Lamp()).ranges, around)
    assert "and so on for ever, as after step 0" in texts(svg)
    assert len(of_class(svg, "loop")) == 1
    assert texts(svg)[0] == "everyone"  # elements of a set without an order
