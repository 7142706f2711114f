"""Messages that move in the page's picture, drawn by a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver import Chrome

from checkers.explore.requests import Explorer
from tests.checkers.explore.test_page import serving
from tests.chromium import started

# 24 messages in rows of four move by one displacement, two distant ones by another, one alone
BOTH_WAYS = """
const { Motion } = await import("/motion.js");
const chip = (k, x, y, dx, dy) => ({ message: { id: `m[${k}]`, changed: k % 3 === 0 },
  size: { x: 54, y: 14 }, from: { x, y }, to: { x: x + dx, y: y + dy } });
const row = (k) => Math.floor(k / 4);
const chips = [...Array(24).keys()].map((k) => chip(k, 58 * (k % 4), 18 * row(k), 40, 160));
chips.push(chip(24, 300, 0, 20, 20), chip(25, 300, 300, 20, 20), chip(26, 400, 0, 0, 100));
const canvas = document.createElement("canvas");
const motion = new Motion(canvas, chips);
const pixels = () => {
  motion.draw(0.5);
  return motion.context.getImageData(0, 0, canvas.width, canvas.height).data.join();
};
const count = [motion.images.length, motion.single.length];
const fast = pixels();
[motion.images, motion.single] = [[], chips];
const slow = pixels();
const empty = slow.replaceAll(/[0,]/g, "") === "";
done({ count, equal: fast === slow, empty });
"""

# a message is shown in the first lane, then in the second, and again in the first when half-way
INTERRUPTED = """
const { Picture } = await import("/picture.js");
const host = document.createElement("div");
document.body.append(host);
const picture = new Picture(host);
const lanes = ["b0", "b1"].map((name) => ({ name, badges: [], logs: [], fields: [] }));
const show = (to) => {
  picture.show({ lanes, logs: [], cards: [],
    messages: [{ id: "request[0]", to, changed: false, fields: [] }] });
  cancelAnimationFrame(picture.frame);
  return picture.chips.get("request[0]");
};
show(0);
picture.rest();
const first = show(1);
picture.draw(0.5);
const hidden = getComputedStyle(picture.layer).opacity;
const second = show(0);
picture.rest();
done({ first: [first.from, first.to], second: [second.from, second.to],
  hidden, shown: getComputedStyle(picture.layer).opacity,
  canvas: getComputedStyle(picture.canvas).display });
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Chrome]:
    with serving(Explorer(opened={"spec": "replication", "path": ""})) as server:
        browser = started()
        try:
            browser.get(server.url)
            yield browser
        finally:
            browser.quit()


def run(page: Chrome, script: str) -> Any:
    body = (
        f"const done = arguments[0]; (async () => {{ {script} }})().catch((it) => done(`${{it}}`))"
    )
    return page.execute_async_script(body)


def test_messages_drawn_as_one_image_have_the_pixels_of_messages_drawn_alone(page: Chrome) -> None:
    assert run(page, BOTH_WAYS) == {"count": [1, 3], "equal": True, "empty": False}


def test_a_message_that_gets_another_goal_starts_from_where_it_is_drawn(page: Chrome) -> None:
    found = run(page, INTERRUPTED)
    (top, bottom), (half, back) = found["first"], found["second"]
    assert top["x"] == bottom["x"]
    assert top["y"] < bottom["y"]
    assert half["y"] == pytest.approx((top["y"] + bottom["y"]) / 2)
    assert back == top
    # elements are hidden while the canvas moves them
    assert (found["hidden"], found["shown"], found["canvas"]) == ("0", "1", "none")
