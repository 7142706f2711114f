"""Counts the frames that the page of `urteil explore` draws while many messages move.

`python -m benchmarks.explore_page` draws a state with 5 replicas and 200 messages in headless
Chromium. All messages move all the time. The result has the frames per second, and the longest
frames, with and without messages.

Each round also measures the page of an older commit (`OLD`), because the speed of a machine
changes. Other programs slow the frames down, but hardly change the CPU time of the page's thread.
So the result also has three CPU times:

- of a whole move, which takes 21 frames;
- of an average frame;
- of the two most expensive frames of a move together. The first frame shows a new state, and the
  last frame writes the elements of the messages.

For 60 frames a second, each frame must take less than 16.7 ms.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome

from benchmarks.pairs import Figure
from checkers.explore.requests import Explorer
from checkers.explore.server import Server
from tests.chromium import started

RESULT = Path(__file__).parent / "results" / "explore_page.json"
MESSAGES, REPLICAS, SECONDS, ROUNDS = 200, 5, 4, 5
MOVED = 20
OLD = "161955a9"  # draws each message again in every frame

# ruff: noqa: E501 - a script of the page
PICTURE = """
const [messages, replicas, seconds, done] = arguments;
const { Picture } = await import("/picture.js");
const scene = (turn) => ({
  lanes: [...Array(replicas).keys()].map((k) => ({
    name: `b${k}`, badges: [], fields: [{ name: "replica.leader_epoch", value: String(turn), changed: true }],
    logs: [{ name: `log[b${k}]`, end: 6, end_name: "log.end_offset", marks: [{ name: "replica.high_watermark", at: turn % 6 }],
      cells: [...Array(8).keys()].map((o) => ({ offset: o, fields: [{ name: "id", value: String(o) }], epoch: o % 3, empty: o > 5, changed: o === turn % 6 })) }],
  })),
  logs: [], cards: [],
  messages: [...Array(messages).keys()].map((m) => ({
    id: `request[${m}]`, to: (m + turn) % replicas, changed: m % 7 === 0, fields: [{ name: "leader_epoch", value: String(m) }] })),
});
const picture = new Picture(document.getElementById("picture"));
"""
MOVES = """
const frames = [];
let turn = 0, last = performance.now(), next = last;
const end = last + seconds * 1000;
function frame(now) {
  frames.push(now - last);
  last = now;
  if (now >= next) { picture.show(scene(turn++)); next = now + 350; }
  if (now < end) requestAnimationFrame(frame);
  else done({ frames, moved: turn, drawn: document.querySelectorAll(".message").length });
}
requestAnimationFrame(frame);
"""
# the first and the last frame of each move, without those between them
ENDS = """
let turn = 0;
picture.show(scene(turn++));
const frame = (draw) => new Promise((drawn) => requestAnimationFrame(() => {
  draw();
  setTimeout(drawn);
}));
while (turn <= seconds) {
  await frame(() => {
    picture.show(scene(turn++));
    cancelAnimationFrame(picture.frame);
  });
  await frame(() => picture.rest());
}
done(turn);
"""


class OldServer(Server):
    commit = OLD

    def page(self, name: str) -> bytes:
        file = f"{self.commit}:checkers/explore/page/{name}"
        return subprocess.run(["git", "show", file], check=True, capture_output=True).stdout


@contextmanager
def serving(kind: type[Server]) -> Iterator[str]:
    with kind(Explorer(opened={"spec": "replication", "path": ""})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


def measure() -> dict[str, Any]:
    """Returns the frame rates and the CPU times of the present page and of the page of `OLD`."""
    runs: dict[str, list[dict[str, Any]]] = {"new": [], "old": [], "no messages": []}
    browser = started()
    browser.set_script_timeout(SECONDS + 60)
    with serving(Server) as new, serving(OldServer) as old:
        pages = [("new", new, MESSAGES), ("old", old, MESSAGES), ("no messages", new, 0)]
        for _ in range(ROUNDS):
            for name, url, messages in pages:
                runs[name].append(drawn(browser, url, messages))
            pages.reverse()
    browser.quit()
    return {
        "messages": MESSAGES,
        "old": OLD,
        "rounds": ROUNDS,
        "seconds": SECONDS,
        **{name: summary(found) for name, found in runs.items()},
        "new over old": {
            name: vars_of(
                Figure.of(
                    [a[name] / b[name] for a, b in zip(runs["new"], runs["old"], strict=True)]
                )
            )
            for name in ("frames_per_second", "cpu_ms_a_frame", "cpu_ms_first_and_last_frame")
        },
        "load": [round(one, 2) for one in os.getloadavg()],
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "browser": browser.capabilities["browserVersion"],
    }


def drawn(browser: Chrome, url: str, messages: int) -> dict[str, Any]:
    """Returns the frame rate, the frame times and the CPU times of the page while it animates
    `messages` messages.
    """
    browser.get(url)
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    found, spent_s = _run(browser, MOVES, messages, SECONDS)
    _, ends_s = _run(browser, ENDS, messages, MOVED)
    browser.execute_cdp_cmd("Performance.disable", {})
    frames = sorted(found["frames"][1:])
    assert found["drawn"] == messages
    return {
        "frames_per_second": len(frames) / (sum(frames) / 1000),
        "median_ms": frames[len(frames) // 2],
        "p99_ms": frames[len(frames) * 99 // 100],
        "longest_ms": frames[-1],
        "cpu_ms_a_move": spent_s * 1000 / found["moved"],
        "cpu_ms_a_frame": spent_s * 1000 / len(frames),
        "cpu_ms_first_and_last_frame": ends_s * 1000 / MOVED,
    }


def _run(browser: Chrome, script: str, messages: int, end: int) -> tuple[Any, float]:
    before = _task_s(browser)
    wrapped = f"(async function() {{ {PICTURE} {script} }}).apply(null, arguments)"
    found = browser.execute_async_script(wrapped, messages, REPLICAS, end)
    return found, _task_s(browser) - before


def _task_s(browser: Chrome) -> float:
    metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the minimum, the median and the maximum of each figure over all runs."""
    return {name: vars_of(Figure.of([run[name] for run in runs])) for name in runs[0]}


def vars_of(figure: Figure) -> dict[str, float]:
    return {name: round(getattr(figure, name), 3) for name in ("least", "median", "most")}


if __name__ == "__main__":
    RESULT.write_text(json.dumps(measure(), indent=1) + "\n")
    print(RESULT.read_text())  # noqa: T201 - the result of the program
