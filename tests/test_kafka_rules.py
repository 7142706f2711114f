"""Each rule of docs/kafka-rules.md says since which real release of Kafka it is in force."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from model.releases import LATEST, kafka

PAGE = Path(__file__).parents[1] / "docs" / "kafka-rules.md"
_RULE = re.compile(r"^### (?P<rule>[A-E]\d+)\. .*\n\n(?P<first>.*)$", re.MULTILINE)
_RELEASE = re.compile(r"\b(?:from|also|before) (?:Kafka )?(\d+(?:\.\d+)+)")


def faults(page: str) -> Iterator[str]:
    """Yields a sentence for each error in the first lines of the rules in docs/kafka-rules.md.

    A first line must name only real releases of Kafka, or be `In force: in no release.`
    """
    for found in _RULE.finditer(page):
        rule, line = found["rule"], found["first"]
        releases = _RELEASE.findall(line)
        if not re.fullmatch(r"In force: .+\.", line):
            yield f"{rule} does not say in which Kafka it is in force"
        elif not releases and line != "In force: in no release.":
            yield f"{rule} names no release: {line}"
        for release in releases:
            try:
                kafka(release, LATEST)
            except ValueError as why:
                yield f"{rule}: {why}"


def test_each_rule_names_a_real_release_or_that_no_release_has_it() -> None:
    page = PAGE.read_text()
    assert [*faults(page)] == []
    assert len(_RULE.findall(page)) == len(re.findall(r"^### ", page, re.MULTILINE)) == 43


def test_a_rule_without_a_real_release_is_found() -> None:
    page = "### A1. Append\n\n{}\n\nOnly the leader appends.\n"
    assert [*faults(page.format("In force: from Kafka 0.8 (V2 from 4.0)."))] == []
    assert [*faults(page.format("In force: in no release."))] == []
    assert [*faults(page.format("Only the leader."))] == [
        "A1 does not say in which Kafka it is in force"
    ]
    assert [*faults(page.format("In force: for long."))] == [
        "A1 names no release: In force: for long."
    ]
    (unreal,) = faults(page.format("In force: from Kafka 2.9."))
    assert "2.9 is no release" in unreal
    (early,) = faults(page.format("In force: from Kafka 0.8 (V2 from 5.0)."))
    assert "5.0 is no release" in early
