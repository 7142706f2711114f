"""Each source that the code cites can be opened: an issue, a page of docs/, or a class of Kafka."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from properties.claims.catalogue import CLAIMS

ROOT = Path(__file__).parent.parent
PACKAGES = ("model", "reference_impl", "properties", "checkers", "tools", "benchmarks")
KAFKA = ROOT / "tests" / "data" / "apache_kafka" / "classes-4.3.0.txt"

ISSUE = re.compile(r"\b(KIP-\d+|KAFKA-\d+|[a-z][\w-]*#\d+|librdkafka \d+)\b")
LABEL = r"(?:[A-E]\d{1,2}|DOC\d)"
PAGE = re.compile(rf"docs/([a-z-]+)\.md((?:,? (?:to |and )?{LABEL})*)")
RULE = re.compile(LABEL)
CLAIMS_CITED = re.compile(r"claims: ([a-z_, ]+)")
MODULE = re.compile(r"`((?:model|reference_impl|properties|checkers|benchmarks)[\w.]*)`")
CLAIM_IDS = {claim.id for claim in CLAIMS}
NAME = re.compile(r"\b([A-Z]\w+)(?:\.(\w+))?")


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def cited(source: str) -> Iterator[str]:
    """Yields each source that Python code cites, in a `Source:` block or a `source=` argument."""
    tree = ast.parse(source)
    blocks = [
        block
        for text in docstrings(tree)
        for block in re.findall(r"^Source: (.*?)(?=\n\n|\n[A-Z]\w+:|\Z)", text, re.M | re.S)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "source":
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                blocks.append(value.value)
    for block in blocks:
        yield from (" ".join(one.split()) for one in re.split(r";\s", block.rstrip(". ")))


@cache
def entries() -> frozenset[str]:
    return frozenset(re.findall(r"\*\*(.+?)\*\*", (ROOT / "docs" / "sources.md").read_text()))


@cache
def places(page: str) -> frozenset[str]:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    return frozenset(re.findall(rf"^(?:#+ |- \*\*)({LABEL})(?:\. |\*\*)", text, re.M))


@cache
def kafka_classes() -> dict[str, frozenset[str]]:
    """Returns the classes of Apache Kafka 4.3.0, without packages, each with its methods."""
    lines = [line for line in KAFKA.read_text().splitlines() if line and not line.startswith("#")]
    rows = [line.partition(": ") for line in lines]
    return {name.rpartition(".")[2]: frozenset(methods.split()) for name, _, methods in rows}


def resolves(source: str) -> bool:
    """Returns True if a source can be opened and has the cited section or method."""
    for page, rules in PAGE.findall(source):
        if not places(page) >= set(RULE.findall(rules)):
            return False
    for claims in CLAIMS_CITED.findall(source):
        if not set(claims.split(", ")) <= CLAIM_IDS:
            return False
    for name, method in NAME.findall(source):
        if name in kafka_classes() and method and method not in kafka_classes()[name]:
            return False
    for module in MODULE.findall(source):
        if not exists(module):
            return False
    return bool(
        ISSUE.search(source)
        or PAGE.search(source)
        or CLAIMS_CITED.search(source)
        or MODULE.search(source)
        or any(name in kafka_classes() for name, _ in NAME.findall(source))
        or any(entry in source for entry in entries())
    )


def exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def test_every_cited_source_resolves() -> None:
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    lost = [
        f"{file.relative_to(ROOT)}: {source}"
        for file in files
        for source in cited(file.read_text())
        if not resolves(source)
    ]
    assert not lost, "\n".join(lost)


def test_every_method_of_kafka_that_a_docstring_names_exists() -> None:
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    lost = [
        f"{file.relative_to(ROOT)}: {name}.{method}"
        for file in files
        for text in docstrings(ast.parse(file.read_text()))
        for name, method in re.findall(r"\b([A-Z]\w+)\.([a-z]\w+)", text)
        if name in kafka_classes() and method not in kafka_classes()[name]
    ]
    assert not lost, "\n".join(lost)


def test_a_source_that_does_not_exist_is_found() -> None:
    assert resolves("KIP-101, KAFKA-1211")
    assert resolves("docs/kafka-rules.md A4, A5")
    assert resolves("claims: append_order, atomic_commit")
    assert resolves("ProducerStateManager.writeSnapshot")
    assert resolves("Herlihy and Wing, linearizability")
    assert resolves("docs/sources.md DOC0, DOC3")
    assert not resolves("docs/kafka-rules.md A4 to A99")
    assert not resolves("docs/sources.md D3")
    assert not resolves("docs/sources.md DOC0, DOC4")
    assert not resolves("claims: append_order, no_such_claim")
    assert not resolves("ProducerStateManager.writeSnapshots")
    assert not resolves("protocol rules A4")
    assert not resolves("`model.no_such_spec`")
    assert not resolves("somebody's talk")


def test_each_label_is_on_one_page() -> None:
    labels = [label for page in (ROOT / "docs").glob("*.md") for label in places(page.stem)]
    assert {"A1", "D3", "DOC3"} <= set(labels)
    assert len(set(labels)) == len(labels)


def test_sources_are_read_from_docstrings_and_fields() -> None:
    text = '"""A file.\n\nSource: KIP-1; docs/kafka-rules.md\nA1.\nSimplified: all.\n"""\n'
    text += 'row(source="KIP-2")\n'
    assert list(cited(text)) == ["KIP-1", "docs/kafka-rules.md A1", "KIP-2"]


def uncited_actions(source: str) -> Iterator[str]:
    """Yields each action of a spec whose docstring names neither a part of Kafka nor a KIP."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any(
            ast.unparse(one).partition("(")[0] == "action" for one in node.decorator_list
        ):
            text = ast.get_docstring(node) or ""
            names = any(name in kafka_classes() for name, _ in NAME.findall(text))
            if not (names or ISSUE.search(text) or re.search(r"\bKafka\b", text)):
                yield node.name


def test_every_action_of_a_spec_says_what_kafka_does() -> None:
    """The actions in `bugs.py` are exempt: the action that they replace names what Kafka does."""
    lost = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in sorted((ROOT / "model").rglob("*.py"))
        if file.name != "bugs.py"
        for name in uncited_actions(file.read_text())
    ]
    assert not lost, "\n".join(lost)


def test_an_action_without_a_source_is_found() -> None:
    text = '@action\ndef lose(s):\n    """A record is lost."""\n'
    text += '@action(fair="weak")\ndef fetch(s):\n    """Kafka: ReplicaFetcherThread."""\n'
    assert list(uncited_actions(text)) == ["lose"]
