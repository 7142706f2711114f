"""Looks up the Avro schemas of a topic's records by the id at the beginning of each record.

The schemas are in a folder or in a schema registry:

    schemas/        a folder: 7.avsc is the schema with the id 7
    http://host     a schema registry; GET /schemas/ids/7 returns {"schema": "…"}

The address of a registry is printed, so it must not contain credentials.

Source: Confluent's documentation, "Wire format" and "Schema Registry API reference".
Simplified: no authentication, and no references to other schemas of the registry.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit

from checkers.histories.io.avro.schemas import AvroFault, parsed
from checkers.histories.io.unreadable import SHOWN
from model.faults import InputFault

MAX_SCHEMA: Final = 16 << 20  # bytes
ANSWERS_WITHIN_S: Final = 10.0
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"
_SAVE: Final = "save its schemas as ID.avsc in a folder, and pass that folder"


@dataclass(frozen=True, slots=True)
class ValueSchemas:
    """The Avro schemas by their ids. `text` is the folder of the schemas, or the address of a
    schema registry.
    """

    text: str
    _read: Callable[[str, int], str | bytes] = field(repr=False)
    _known: dict[int, Any] = field(default_factory=dict[int, Any], repr=False)

    def schema(self, number: int) -> Any:
        """Returns the schema with the id `number`, in the form that fastavro needs.

        Raises InputFault if there is no such schema, and AvroFault if the schema cannot be used.
        """
        if number not in self._known:
            self._known[number] = parsed(self._read(self.text, number))
        return self._known[number]


def schemas_at(text: str) -> ValueSchemas:
    """Returns the schemas at the place `text`: the address of a schema registry, or a folder.

    Raises InputFault if the address contains credentials, or if the folder does not exist.
    """
    if text.lower().startswith(("http://", "https://")):
        if "@" in urlsplit(text).netloc:
            scheme = text.partition("://")[0]
            raise InputFault(
                f"--schemas {scheme}://…: credentials must not be part of an address, which is "
                f"printed; {_SAVE}"
            )
        return ValueSchemas(text.rstrip("/"), _of_registry)
    if not Path(text).is_dir():
        raise InputFault(
            f"--schemas {text}: no such folder; pass a folder with ID.avsc, or the http:// address "
            "of a schema registry"
        )
    return ValueSchemas(text, _of_folder)


def _of_folder(folder: str, number: int) -> bytes:
    path = Path(folder) / f"{number}.avsc"
    try:
        with path.open("rb") as file:
            return file.read(MAX_SCHEMA)
    except OSError as error:
        raise InputFault(
            f"{path}: {error.strerror}; save the schema with the id {number} as this file"
        ) from error


def _of_registry(url: str, number: int) -> str:
    from urllib.request import Request, urlopen  # late: it imports TLS

    address = f"{url}/schemas/ids/{number}"
    try:
        with urlopen(Request(address, headers={"Accept": _ACCEPT}), timeout=ANSWERS_WITHIN_S) as it:
            answer: Any = json.loads(it.read(MAX_SCHEMA))
    except HTTPError as error:
        error.close()
        moves = {404: "it has no schema with this id: check the address", 401: _SAVE, 403: _SAVE}
        move = moves.get(error.code, "check the address of the registry")
        raise InputFault(f"{address}: the registry returns {error.code}; {move}") from error
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        reason = str(error)[:SHOWN]
        raise InputFault(
            f"{address}: no schema registry answers ({reason}); check the address"
        ) from error
    match answer:
        case {"schemaType": str(kind)} if kind != "AVRO":
            raise AvroFault(f"{address} is a schema in {kind}", "write the records in Avro")
        case {"references": [_, *_]}:
            raise AvroFault(f"{address} refers to other schemas", "write one schema without them")
        case {"schema": str(text)}:
            return text
        case _:
            raise InputFault(f"{address}: this is no answer of a schema registry; check it")
