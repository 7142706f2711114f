from __future__ import annotations

from typing import Any, Final

import click

from checkers.cli.importing import importing


class _PlaceType(click.Path):
    """Converts the value of an option or argument to the location of a history: a path, an address,
    a topic, or a glob.

    An address with credentials is rejected. The error message does not contain the address, because
    the credentials are secret.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        with importing():
            from checkers.histories.io.locations import file_or_folder
            from checkers.histories.topics.address import SCHEME, topic

        del param, ctx
        text = str(value)
        return topic(text) if text.startswith(SCHEME) else file_or_folder(text)


PLACE: Final = _PlaceType()
