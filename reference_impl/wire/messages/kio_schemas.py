"""The schemas of Kafka's messages, from the library kio. Each schema is imported when it is first
used.

The import of all schemas takes a second.

kio imports Hypothesis if Hypothesis is installed. This import takes half a second, and a broker
does not need it, so this module hides Hypothesis from kio.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def hidden(name: str) -> Generator[None]:
    """Makes imports of the package `name` fail in the block, unless the package is already
    imported.
    """
    is_hidden = name not in sys.modules
    if is_hidden:
        # Python: the import of a name whose entry is None raises ModuleNotFoundError.
        sys.modules[name] = None  # type: ignore[assignment] # pyright: ignore[reportArgumentType]
    try:
        yield
    finally:
        if is_hidden:
            del sys.modules[name]


with hidden("hypothesis"):
    from kio.index import load_payload_module
    from kio.schema.errors import ErrorCode as KioErrorCode
    from kio.schema.index import api_key_map, schema_name_map
    from kio.serial import entity_reader, entity_writer
    from kio.serial._implicit_defaults import get_tagged_field_default as tagged_field_default
    from kio.serial.errors import SerialError
    from kio.static.constants import EntityType

__all__ = [
    "EntityType",
    "KioErrorCode",
    "SerialError",
    "api_key_map",
    "entity_reader",
    "entity_writer",
    "load_payload_module",
    "schema_name_map",
    "tagged_field_default",
]
