"""A command-line argument for tools: the names of specs. Without names, it stands for all specs."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError

from model.specs import SPECS


def add_specs(parser: ArgumentParser) -> None:
    """Adds the argument `specs`, a list of names of specs, to the parser. An unknown name ends the
    tool with exit code 2.
    """
    parser.add_argument("specs", nargs="*", type=_spec, metavar="SPEC", help="default: all specs")


def _spec(name: str) -> str:
    if name not in SPECS:
        raise ArgumentTypeError(f"there is no spec {name}; urteil list specs has the names")
    return name
