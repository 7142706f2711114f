"""The flame graph in the docs is drawn from the kept samples, and its boxes add up."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from benchmarks.analyze.flame_graph import PICTURE, RESULT, picture, shortened, stacks, tree
from benchmarks.analyze.kernels import kept

KEPT = kept(RESULT)
RAW = """
<module> (urteil:8);analyze (checkers/a.py:10);sort (numpy/s.py:3) 600
<module> (urteil:8);analyze (checkers/a.py:12);sort (numpy/s.py:4) 300
<module> (urteil:8);analyze (checkers/a.py:12);rare (checkers/b.py:4) 1
<module> (urteil:8);analyze (checkers/a.py:12) 99
""".strip()


def test_the_picture_is_drawn_from_the_kept_samples() -> None:
    assert PICTURE.read_text() == picture(KEPT)
    assert PICTURE.stat().st_size < 300_000


def test_stacks_are_joined_by_function_and_rare_frames_count_for_their_caller() -> None:
    analyze, sort = "analyze (checkers/a.py)", "sort (numpy/s.py)"
    assert shortened(stacks(RAW)) == {analyze: 100, f"{analyze};{sort}": 900}


def test_the_width_of_a_box_is_its_share() -> None:
    drawn = picture({"stacks": shortened(stacks(RAW))})
    assert "<title>analyze (checkers/a.py): 100.0%</title>" in drawn
    assert "<title>sort (numpy/s.py): 90.0%</title>" in drawn
    boxes = re.findall(r'<rect x="0\.0" y="\d+" width="([\d.]+)"', drawn)
    assert boxes == ["1199.5", "1199.5", "1079.5"]


def test_each_kept_function_is_a_box() -> None:
    named = tree(
        (tuple(stack.split(";")), count) for stack, count in KEPT["stacks"].items() if stack
    )
    titles = [
        it.text or "" for it in ElementTree.fromstring(picture(KEPT)).iter() if "title" in it.tag
    ]
    assert {text.rpartition(": ")[0] for text in titles} >= named.called.keys()
    assert any(text.startswith("steps (checkers/histories/") for text in titles)
