"""The author's own names for terms: what a method of a spec called `end` is printed as `end`.

A name is noted when the method that gave it returns. Terms are shared, so a name found anywhere in
an action is good everywhere in it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from model.language import terms as t
from model.language.expressions import Term

HERE = str(Path(__file__).parent)


@contextmanager
def noted(names: dict[t.Node, str]) -> Generator[None]:
    """While it is open, local names that a spec gives to terms are entered into `names`."""

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "return" or frame.f_code.co_filename.startswith(HERE):
            return
        for name, value in frame.f_locals.items():
            if isinstance(value, Term) and not isinstance(value.node, t.Const | t.Least | t.Local):
                names.setdefault(value.node, name)

    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(previous)
