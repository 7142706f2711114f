"""Writes the reference pages of the documentation from the tables of the code.

    python -m tools.reference docs/reference

There is a page for each list of `urteil list`, such as specs, claims and anomalies. Further pages
have the commands, the events, the columns of a history, the differences from Apache Kafka, the
requests and the settings that the reference broker serves, the track record of bugs, and the
licences of the packages. Git ignores the pages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from inspect import cleandoc
from pathlib import Path
from typing import Final

import click

from checkers import events, plan_events
from checkers.cli import catalogue
from checkers.cli.main import COMMANDS, load
from checkers.conform.families import FAMILIES
from checkers.conform.normal import NOT_COMPARED
from checkers.conform.reason import Verdict
from checkers.conform.reasons import REASONS
from checkers.events import Event, Listed
from checkers.report.spec_page import spec_page
from checkers.verdicts import EXIT_CODES
from model.histories import COLUMNS, SCHEMA_VERSION
from reference_impl.protocol.topic_settings import BUILT_IN
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.requests.configs import unserved
from reference_impl.wire.requests.configs.broker_configs import NUMBERS
from reference_impl.wire.requests.configs.topic_configs import CONFIGS
from reference_impl.wire.requests.configs.topic_configs import text as written
from tools.sbom import shipped
from tools.track_record.table import table as track_record
from tools.unserved import UNSERVED

# page -> (title, kinds of `urteil list`, first paragraph)
PAGES: Final[Mapping[str, tuple[str, Sequence[str], str]]] = {
    "specs": ("Specs", ("specs",), "The specs that `urteil check` explores."),
    "versions": ("Versions", ("versions",), "The protocol as it was in a release of Kafka."),
    "bugs": (
        "Bugs",
        ("bugs", "left-out"),
        "Bugs of the specs and of the reference broker, what each breaks, and the command that "
        "shows it. Each must be caught: a test runs every row, with the bug and with its fix. A "
        "bug of a spec has a shortest counterexample: the actions after the initial state, and "
        "the claim that they violate. At the end: reported bugs that nothing here looks for, and "
        "why.",
    ),
    "claims": (
        "Claims",
        ("claims",),
        "The promises of Kafka's documents. Each holds inside its condition and is broken outside.",
    ),
    "properties": ("Properties", ("properties",), "What the specs claim, and the anomalies."),
    "anomalies": (
        "Anomalies",
        ("anomalies",),
        "What `urteil analyze` looks for in a history, and in the log directories of brokers.",
    ),
    "suites": (
        "Suites and sweeps",
        ("suites", "sweeps"),
        "What drives the simulated broker: `urteil test` and `urteil sweep`.",
    ),
}

TRACK_RECORD: Final = (
    "Every bug and old version that must be caught, and what caught it. A test runs every row of "
    "the specs twice: as it was, until its property fails on a shortest path, and with its fix, to "
    "the end of the same bounds. `python -m tools.track_record` writes the record."
)


def main(folder: Path) -> None:
    """Writes all pages into the folder, and deletes the pages of earlier runs."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    pages = {name: "\n".join(page(name)) for name in PAGES} | {
        "commands": "\n".join(commands()),
        "events": "\n".join(event_page()),
        "history-format": "\n".join(history_format()),
        "licences": "\n".join(licences()),
        "differences": "\n".join(differences()),
        "served-requests": "\n".join(served_requests()),
        "served-settings": "\n".join(served_settings()),
        "track-record": "\n".join(("# Track record", "", TRACK_RECORD, "", track_record())),
    }
    for name, lines in pages.items():
        (folder / f"{name}.md").write_text(lines + "\n", encoding="utf-8")
    (folder / "index.md").write_text("\n".join(index(pages)) + "\n", encoding="utf-8")


def index(pages: Iterable[str]) -> Iterator[str]:
    yield from (
        "# Reference",
        "",
        "Generated from the code.",
        "",
        "```{toctree}",
        ":maxdepth: 1",
        "",
    )
    yield from sorted(pages)
    yield "```"


def page(name: str) -> Iterator[str]:
    """Yields the lines of a page of `PAGES`, such as `bugs`."""
    title, kinds, says = PAGES[name]
    yield from (f"# {title}", "", says)
    for kind in kinds:
        if len(kinds) > 1:
            yield from ("", f"## {kind.replace('-', ' ').capitalize()}")
        seen: set[str] = set()
        for row in sorted(catalogue.rows(kind), key=lambda row: row.item):
            if row.item not in seen:
                yield from ("", f"### {row.item}")
            seen.add(row.item)
            yield from section(row)


DIFFERENCES: Final = (
    "Where the answers of Apache Kafka 4.3.0 to raw requests differ from those of the reference "
    "broker, and why. `urteil conform` fails for every other difference. A test compares recorded "
    "answers of Kafka, and fails for a row that explains nothing any more."
)
VERDICTS: Final[Mapping[Verdict, str]] = {
    Verdict.THEIRS: "Findings about Apache Kafka.",
    Verdict.OURS: "Faults of the reference broker that are not fixed yet. Kafka is right.",
    Verdict.PERMITTED: "Choices that the protocol leaves to a broker, and simplifications.",
}


def differences() -> Iterator[str]:
    yield from ("# Differences from Apache Kafka", "", DIFFERENCES)
    for verdict, says in VERDICTS.items():
        rows = [row for row in REASONS if row.verdict is verdict]
        yield from ("", f"## {str(verdict).capitalize()}", "", says if rows else "None is known.")
        if rows:
            yield from ("", "| Difference | Requests | Reason |", "|---|---|---|")
        for row in rows:
            apis = ", ".join(sorted(api.name for api in row.apis))
            yield f"| {row.name} | {escaped(apis)} | {sentence(row.sentence)} |"
    yield from ("", "## Fields that are not compared", "", "| Field | Why |", "|---|---|")
    yield from (f"| {escaped(name)} | {why} |" for name, why in NOT_COMPARED.items())
    yield from ("", "## Families of requests", "", "| Family | Requests |", "|---|---|")
    yield from (f"| {name} | {family.about} |" for name, family in FAMILIES.items())


def section(row: Listed) -> Iterator[str]:
    yield from ("", sentence(row.statement))
    facts = {**row.facts, **(spec_page(row.item) if row.kind == "spec" else {})}
    texts = [(label(k), v) for k, v in facts.items() if v not in (None, False, "", [], (), {})]
    short = [(k, plain(v)) for k, v in texts]
    if any("\n" not in text for _, text in short):
        yield ""
    yield from (f"- **{k}**: {text}" for k, text in short if "\n" not in text)
    for k, text in short:
        if "\n" in text:
            yield from ("", f"**{k}**:", "", "```text", text.strip("\n"), "```")


def label(key: str) -> str:
    return key.replace("_", " ")


def sentence(text: str) -> str:
    return escaped(" ".join(text.split()))


def escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "*_<>[]{}|$" else c for c in text)


def plain(value: object) -> str:
    """Returns a value as Markdown.

    A text of several lines is unchanged. The items of a list or mapping are joined by semicolons.
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{escaped(str(k))} = {escaped(str(v))}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(escaped(str(x)) for x in value)
    text = str(value)
    if text.startswith("urteil "):
        return f"`{text}`"
    return text if "\n" in text else escaped(text)


def served_requests() -> Iterator[str]:
    """Yields the page of the requests that `urteil broker` serves. For each other request of Kafka,
    the page has the reason why it is not served.
    """
    yield from (
        "# Requests of the served broker",
        "",
        f"`urteil broker` answers {len(VERSIONS)} of the {len(VERSIONS) + len(UNSERVED)} requests "
        "of the broker listener of Apache Kafka 4.3.",
        "",
        "| Key | Request | Versions |",
        "|---|---|---|",
    )
    for api, versions in sorted(VERSIONS.items()):
        yield f"| {int(api)} | {escaped(api.name)} | {versions.first_answered} to {versions.last} |"
    yield from ("", "## Not served", "", "| Key | Request | Why |", "|---|---|---|")
    yield from (f"| {int(api)} | {escaped(api.name)} | {why} |" for api, why in UNSERVED.items())


def served_settings() -> Iterator[str]:
    """Yields the page of Kafka's settings.

    A supported setting has its default value and its names for topics and for brokers. A refused
    setting has the reason.
    """
    yield from (
        "# Settings of the served broker",
        "",
        "Settings of a topic. `urteil broker --broker-config NAME=VALUE` sets the default of all"
        " topics, and a request changes it for all brokers.",
        "",
        "| Topic | Default | Brokers |",
        "|---|---|---|",
    )
    for name, config in CONFIGS.items():
        yield f"| `{name}` | {written(BUILT_IN[config.field])} | `{config.of_brokers}` |"
    yield from ("", "A broker can also be started with:", "")
    yield from (f"- `{name}`" for name in NUMBERS)
    for title, reasons in (("topics", unserved.OF_TOPICS), ("brokers", unserved.OF_BROKERS)):
        yield from ("", f"## Refused settings of {title}", "")
        if title == "brokers":
            yield from ("A request to Kafka can change these.", "")
        yield from ("| Setting | Reason |", "|---|---|")
        yield from (f"| `{name}` | {why[0].upper()}{why[1:]}. |" for name, why in reasons.items())


def commands() -> Iterator[str]:
    """Yields the page of the commands: the exit codes, and the help text of each command."""
    yield from (
        "# Commands",
        "",
        "Exit codes of all commands:",
        "",
        "| code | meaning |",
        "|---|---|",
    )
    yield from (f"| {code} | {says} |" for code, says in EXIT_CODES.items())
    for name in COMMANDS:
        command = load(name)
        command.epilog = None
        context = click.Context(
            command, info_name=f"urteil {name}", max_content_width=100, terminal_width=100
        )
        yield from ("", f"## urteil {name}", "", "```text", command.get_help(context), "```")


def event_page() -> Iterator[str]:
    """Yields the page of the events of `--json`, each with a table of its fields."""
    yield from ("# Events", "", sentence(cleandoc(events.__doc__ or "")))
    named = {**vars(events), **vars(plan_events)}.values()
    kinds = [c for c in named if isinstance(c, type) and issubclass(c, Event)]
    for kind in (c for c in kinds if c is not Event):
        yield from ("", f"## {kind.name}", "", sentence(cleandoc(kind.__doc__ or "")), "")
        yield from ("| field | type | default |", "|---|---|---|")
        yield from (f"| {f.name} | {escaped(str(f.type))} | {default(f)} |" for f in fields(kind))


def default(field: Field[object]) -> str:
    return "required" if field.default is MISSING else escaped(repr(field.default))


def history_format() -> Iterator[str]:
    """Yields the page of the columns of a history, with their types and meanings."""
    yield from (
        "# History format",
        "",
        f"Schema version {SCHEMA_VERSION}, as Parquet or as NDJSON. One row is one micro-operation;"
        " an operation without micro-operations has one row of the kind `none`.",
        "",
        "| column | type | may be null | meaning |",
        "|---|---|---|---|",
    )
    for name, (kind, nullable, meaning) in COLUMNS.items():
        yield f"| `{name}` | {kind} | {'yes' if nullable else 'no'} | {escaped(meaning)} |"


def licences() -> Iterator[str]:
    """Yields the page of the packages that ship with Urteil, with their licences."""
    yield from (
        "# Packages and licences",
        "",
        "What `pip install urteil` brings, directly or not. `make sbom` writes the same list, and "
        "what needs what, as a CycloneDX document.",
        "",
        "| package | version | licence | for |",
        "|---|---|---|---|",
    )
    for it in shipped():
        yield f"| {it.name} | {it.version} | {it.licence} | {escaped(it.about)} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
