"""The commands of the tutorial print the lines that the page shows.

The tests write the page's Python blocks to files, and run its commands on these files.
"""

from __future__ import annotations

import glob
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
URTEIL = Path(sys.executable).with_name("urteil")


def run(line: str, folder: Path) -> str:
    words = [x for word in shlex.split(line) for x in globbed(word, folder)]
    assert words[0] == "urteil"
    ran = subprocess.run(
        [str(URTEIL), *words[1:]], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode in (0, 1), ran.stderr
    return ran.stdout


def globbed(word: str, folder: Path) -> list[str]:
    return sorted(glob.glob(word, root_dir=folder)) or [word]


def test_every_command_prints_the_lines_of_the_page(tmp_path: Path) -> None:
    commands = 0
    for language, name, text in BLOCK.findall(PAGE.read_text()):
        if language == "python":
            with (tmp_path / name).open("a") as file:
                file.write(f"{text}\n\n")
            continue
        assert language == "console"
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, *shown = part.splitlines()
            said = run(line, tmp_path)
            commands += 1
            for wanted in shown:
                assert wanted in said, f"{line}\n{said}"
    assert commands == 6


def test_the_spec_has_about_forty_lines() -> None:
    first = next(text for language, _, text in BLOCK.findall(PAGE.read_text()))
    spec = first[first.index("class ") :]  # after the imports
    code = [line for line in spec.splitlines() if line.strip() and '"""' not in line]
    assert 30 <= len(code) <= 40
