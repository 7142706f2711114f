"""The type of a command argument that is a path, an address of an object store, or a glob."""

from __future__ import annotations

from typing import Any, Final

import click


class _PlaceType(click.Path):
    """A command argument that is a path, an address of an object store, or a glob.

    An address with credentials is refused; the error message does not contain the address.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from checkers.histories.io.locations import file_or_folder

        del param, ctx
        return file_or_folder(str(value))


PLACE: Final = _PlaceType()
