"""Collects the Python variables to which a spec assigns terms. Reports print a term by the name of
its variable.

After `end = s.log[p].end_offset`, the term is printed as `end`. Equal terms of an action are one
object, so they have one name.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from model.language import terms as t
from model.language.expressions import Term, returned_nothing

HERE = str(Path(__file__).parent)


@contextmanager
def collecting_names(names: dict[t.Node, str]) -> Generator[None]:
    """While the context is open, `names` collects the names of terms: the Python variables to which
    functions of the spec assign them. If a term has several such variables, `names` keeps the one
    that was recorded first.
    """

    def collect(frame: FrameType, _: object) -> None:
        for name, value in frame.f_locals.items():
            if isinstance(value, Term) and not isinstance(value.node, t.Const | t.Least | t.Local):
                names.setdefault(value.node, name)

    with _at_each_return(collect):
        yield


@contextmanager
def watching_returns() -> Generator[None]:
    """While the context is open, each function of the spec that returns None is added to a list:
    `returned_nothing` in the module `expressions`. At the end, the list is cleared.
    """

    def keep(frame: FrameType, returned: object) -> None:
        if returned is None and not frame.f_code.co_flags & inspect.CO_GENERATOR:
            returned_nothing.append(frame.f_code)

    try:
        with _at_each_return(keep):
            yield
    finally:
        returned_nothing.clear()


@contextmanager
def _at_each_return(act: Callable[[FrameType, object], None]) -> Generator[None]:
    def profile(frame: FrameType, event: str, returned: object) -> None:
        if event == "return" and not frame.f_code.co_filename.startswith(HERE):
            act(frame, returned)

    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(previous)
