"""Sends hostile frames to the reference broker, and records the latencies of a healthy client
meanwhile.

    python -m benchmarks.hostile_frames                    a million frames
    python -m benchmarks.hostile_frames --frames 100000    fewer
    nice -n -5 python -m benchmarks.hostile_frames         on a machine with other work

A million frames take five minutes on two idle cores. The target is a p99 latency of the healthy
client below 100 ms.
"""

from __future__ import annotations

import argparse
import json
import sys

from benchmarks.hostile_frames.campaign import campaign, idle
from benchmarks.pairs import write_results


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile_frames")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(words)
    facts = {
        "idle": idle(),
        "campaign": campaign(options.frames, options.connections, options.seed),
    }
    sys.stdout.write(json.dumps(facts, indent=1) + "\n")
    sys.stdout.write(f"  kept in {write_results('hostile_frames', [], facts)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
