"""Draws docs/kernels.svg: a flame graph of `urteil analyze --engine local`, sampled by py-spy.

    pip install py-spy
    python -m benchmarks.analyze.flame_graph           # 3 million rows: a minute on a quiet core
    python -m benchmarks.analyze.flame_graph --draw    # draws the kept result

Stacks that differ only in line numbers count as one stack. Frames of click, of imports and of
context managers are left out, and so are frames with a smaller share of samples than `SHOWN`. The
samples of a frame that is left out count for its caller.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from benchmarks.analyze.synthesis import Synthesis, synthesize
from benchmarks.pairs import RESULTS, write_results

RESULT: Final = "flame_graph"
PICTURE: Final = Path(__file__).parents[2] / "docs" / "kernels.svg"
SHOWN: Final = 0.002  # share of the samples of a frame that is drawn
SAMPLES_PER_S: Final = 200
RUNS: Final = 5
ROOT: Final = "urteil analyze"
WIDTH: Final = 1200  # pixels, as all lengths here
HEIGHT: Final = 17
LETTER: Final = 6.2
_LINE: Final = re.compile(r":\d+\)$")
_LEFT_OUT: Final = re.compile(
    r"\((?:click/|<frozen importlib|contextlib\.py|urteil\)"
    r"|checkers/cli/(?:main|command|log_dirs)\.py)"
)
# the kind of a frame, the files of its functions, and its colour; the first match counts
ROOMS: Final = (
    ("kernels", r"\(checkers/histories/(?:anomalies|facts)/", "#f2a154"),
    ("columns and sorting", r"\(checkers/histories/columnar/", "#f5d76e"),
    ("plan, batches, shuffle", r"\(checkers/histories/", "#e8836f"),
    ("command and report", r"\((?:checkers|model|properties)/", "#b6d08a"),
    ("libraries", r"", "#c9d3df"),
)


@dataclass(slots=True)
class Frame:
    """A function in the flame graph. `samples` includes the samples of the functions that it
    calls.
    """

    name: str
    samples: int = 0
    called: dict[str, Frame] = field(default_factory=dict)

    def depth(self) -> int:
        return 1 + max((one.depth() for one in self.called.values()), default=0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analyze.flame_graph")
    parser.add_argument("--rows", type=float, default=3e6)
    parser.add_argument("--partitions", type=int, default=256)
    parser.add_argument("--draw", action="store_true", help="only draw the kept result")
    arguments = parser.parse_args()
    if not arguments.draw:
        with tempfile.TemporaryDirectory(prefix="urteil-synthetic-") as made:
            options = Synthesis(
                folder=Path(made) / "history",
                rows=int(arguments.rows),
                partitions=arguments.partitions,
            )
            facts = {
                "rows": synthesize(options),
                "partitions": arguments.partitions,
                "py-spy": version("py-spy"),
                "stacks": shortened(stacks(sampled(options.folder, Path(made)))),
            }
        sys.stdout.write(f"  kept in {write_results(RESULT, [], facts)}\n")
    PICTURE.write_text(picture(json.loads((RESULTS / f"{RESULT}.json").read_text())))
    sys.stdout.write(f"  drawn: {PICTURE}\n")


def sampled(history: Path, folder: Path) -> str:
    """Returns the output of py-spy. Each line has the frames of a stack, and its number of
    samples.
    """
    scripts, output = Path(sys.executable).parent, folder / "stacks"
    command = [
        scripts / "urteil",
        "analyze",
        history,
        "--engine",
        "local",
        "--out",
        folder / "runs",
    ]
    subprocess.run(command, check=True, capture_output=True)  # a warm-up: it compiles our modules
    record = [scripts / "py-spy", "record", "--format", "raw", "--rate", str(SAMPLES_PER_S)]
    lines = ""
    for _ in range(RUNS):
        words = [*record, "--output", output, "--", *command]
        subprocess.run(words, check=True, capture_output=True)
        lines += output.read_text()
    return lines


def stacks(lines: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yields each stack without line numbers, and its number of samples."""
    for line in lines.splitlines():
        text, _, count = line.rpartition(" ")
        frames = (_LINE.sub(")", frame) for frame in text.split(";"))
        yield tuple(it for it in frames if it.strip() and not _LEFT_OUT.search(it)), int(count)


def shortened(some: Iterable[tuple[tuple[str, ...], int]]) -> dict[str, int]:
    """Returns the samples of each stack. A stack is cut before the first frame whose share of all
    samples is below `SHOWN`.
    """
    some = [*some]
    whole = tree(some)
    kept: dict[str, int] = {}
    for stack, count in some:
        shown: list[str] = []
        at = whole
        for name in stack:
            at = at.called[name]
            if at.samples < SHOWN * whole.samples:
                break
            shown.append(name)
        key = ";".join(shown)
        kept[key] = kept.get(key, 0) + count
    return dict(sorted(kept.items()))


def tree(some: Iterable[tuple[tuple[str, ...], int]]) -> Frame:
    root = Frame(ROOT)
    for stack, count in some:
        at = root
        at.samples += count
        for name in stack:
            at = at.called.setdefault(name, Frame(name))
            at.samples += count
    return root


# ---------------------------------------------------------------- the picture


def picture(kept: Mapping[str, Any]) -> str:
    """Returns an SVG in which each function is below its caller."""
    root = tree(
        (tuple(filter(None, stack.split(";"))), count) for stack, count in kept["stacks"].items()
    )
    height = HEIGHT * (root.depth() + 2)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="monospace" font-size="10">',
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            *_legend(),
            *_drawn(root, root.samples, left=0.0, top=2 * HEIGHT),
            "</svg>\n",
        )
    )


def _legend() -> Iterator[str]:
    for number, (room, _, colour) in enumerate(ROOMS):
        left = number * WIDTH / len(ROOMS)
        yield f'<rect x="{left + 4:.0f}" y="4" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{left + 20:.0f}" y="14">{room}</text>'


def _drawn(frame: Frame, samples: int, *, left: float, top: int) -> Iterator[str]:
    width = frame.samples / samples * WIDTH
    name = escape(frame.name)
    yield (
        f'<g><title>{name}: {frame.samples / samples:.1%}</title><rect x="{left:.1f}" y="{top}" '
        f'width="{max(width - 0.5, 0.5):.1f}" height="{HEIGHT - 1}" fill="{_colour(frame.name)}"/>'
    )
    letters = int((width - 4) / LETTER)
    if letters >= 3:
        short = frame.name.partition(" (")[0] if len(frame.name) > letters else frame.name
        text = short if len(short) <= letters else f"{short[: letters - 1]}…"
        yield f'<text x="{left + 2:.1f}" y="{top + 12}">{escape(text)}</text>'
    yield "</g>"
    for called in sorted(frame.called.values(), key=lambda it: (-it.samples, it.name)):
        yield from _drawn(called, samples, left=left, top=top + HEIGHT)
        left += called.samples / samples * WIDTH


def _colour(name: str) -> str:
    return next(colour for _, files, colour in ROOMS if re.search(files, name))


if __name__ == "__main__":
    main()
