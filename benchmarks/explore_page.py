"""Counts the frames that the page of `urteil explore` draws while many messages move.

`python -m benchmarks.explore_page` draws a state with 5 replicas and 200 messages in headless
Chromium. Every 350 ms, each message gets another replica, so all of them move all the time. The
result has the frames a second, and the longest frames.
"""

from __future__ import annotations

import json
import os
import platform
import threading
from pathlib import Path
from typing import Any

from checkers.explore.requests import Explorer
from checkers.explore.server import Server
from tests.chromium import started

RESULT = Path(__file__).parent / "results" / "explore_page.json"
MESSAGES, REPLICAS, SECONDS = 200, 5, 10

# ruff: noqa: E501 - a script of the page
SCRIPT = """
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


def measure() -> dict[str, Any]:
    """Returns two frame rates: with all messages and without messages.

    The frame rate without messages shows the load of the machine.
    """
    browser = started()
    explorer = Explorer(opened={"spec": "replication", "path": ""})
    with Server(explorer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.set_script_timeout(SECONDS + 60)
        browser.get(server.url)
        wrapped = f"(async function() {{ {SCRIPT} }}).apply(null, arguments)"
        runs = {
            messages: browser.execute_async_script(wrapped, messages, REPLICAS, SECONDS)
            for messages in (0, MESSAGES)
        }
        server.shutdown()
    browser.quit()
    return {
        "seconds": SECONDS,
        "runs": [_frames(messages, found) for messages, found in runs.items()],
        "load": [round(one, 2) for one in os.getloadavg()],
        "cores": os.cpu_count(),
        "machine": platform.machine(),
    }


def _frames(messages: int, found: dict[str, Any]) -> dict[str, Any]:
    frames = sorted(found["frames"][1:])
    assert found["drawn"] == messages
    return {
        "messages": messages,
        "moves": found["moved"],
        "frames": len(frames),
        "frames_per_second": round(len(frames) / (sum(frames) / 1000), 1),
        "median_ms": round(frames[len(frames) // 2], 1),
        "p99_ms": round(frames[len(frames) * 99 // 100], 1),
        "longest_ms": round(frames[-1], 1),
    }


if __name__ == "__main__":
    RESULT.write_text(json.dumps(measure(), indent=1) + "\n")
    print(RESULT.read_text())  # noqa: T201 - the result of the program
