"""Real clients pass the scenarios, and docs/clients.md shows the recorded result of each client."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.testing.broker import Broker
from tools.clients import installed
from tools.clients.examples import EXAMPLES, on_page, try_example
from tools.clients.installed import Installed
from tools.clients.page import PAGE, page
from tools.clients.reasons import REASONS
from tools.clients.results import Row, kept, kept_examples, save, save_example
from tools.clients.scenarios import BY_NAME, SCENARIOS
from tools.clients.trial import Cell, try_scenario

HOW_TO = PAGE.parent / "how-to" / "faults-in-your-tests.md"
PYTHON_CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka")
SHORT = ("administration", "records", "transaction", "abort-after-commit", "too-large")
FEW = 200
ROW = Row(
    client="franz-go",
    language="Go",
    version="1.2",
    cells={
        "metadata": Cell(outcome="passed"),
        "records": Cell(outcome="passed", note="gzip|lz4"),
        "rebalance-consumer": Cell(outcome="not offered", note="no such option"),
        "too-large": Cell(outcome="failed", note="no answer"),
    },
)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started


@pytest.mark.parametrize("name", PYTHON_CLIENTS)
def test_a_python_client_passes_the_short_scenarios(broker: Broker, name: str) -> None:
    client = installed.BY_NAME[name].install()
    for scenario in SHORT:
        cell, said = try_scenario(broker, client, BY_NAME[scenario], f"{name}-{scenario}", FEW)
        assert cell.outcome == "passed", (scenario, cell.note, said)


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")
def test_kcat_passes_the_short_scenarios(broker: Broker) -> None:
    client = installed.BY_NAME["kcat"].install()
    for scenario in ("metadata", "records"):
        cell, said = try_scenario(broker, client, BY_NAME[scenario], f"kcat-{scenario}", FEW)
        assert cell.outcome == "passed", (scenario, cell.note, said)


def test_a_scenario_fails_on_a_broker_with_a_bug() -> None:
    client = installed.BY_NAME["confluent-kafka"].install()
    with Broker(options=["--bug", "aborted-not-listed"]) as broken:
        cell, _ = try_scenario(broken, client, BY_NAME["abort-after-commit"], "torn", FEW)
    assert cell.outcome == "failed"
    assert "gone-1" in cell.note


def program(text: str) -> Installed:
    return Installed(version="1", command=(sys.executable, "-c", text))


PASSED = """print('{"outcome": "passed", "note": "well"}')"""


def test_the_last_line_of_a_program_is_its_result(broker: Broker) -> None:
    metadata = BY_NAME["metadata"]
    noisy = program(f"print('noise'); {PASSED}")
    assert try_scenario(broker, noisy, metadata, "a", FEW)[0] == Cell(outcome="passed", note="well")
    silent, said = try_scenario(broker, program("raise OSError('away')"), metadata, "b", FEW)
    assert silent == Cell(outcome="failed", note="the program ended with code 1")
    assert "OSError: away" in said


def test_a_program_that_does_not_end_fails(broker: Broker) -> None:
    short = replace(BY_NAME["metadata"], limit_s=0.4)
    cell, _ = try_scenario(broker, program("import time; time.sleep(9)"), short, "c", FEW)
    assert cell == Cell(outcome="failed", note="not finished after 0 s")


WRITES = """
import sys
from confluent_kafka import Producer
settings = {"bootstrap.servers": sys.argv[2], "compression.type": "gzip", "linger.ms": 50}
producer = Producer({**settings, "enable.idempotence": %s})
for value in range(9):
    producer.produce(sys.argv[3], b"a long value that gzip makes shorter" * 9, partition=0)
producer.flush()
print('{"outcome": "passed", "note": "%s"}')
"""


@pytest.mark.parametrize(
    ("is_idempotent", "claimed", "why"),
    [
        (True, "gzip", "gzip"),
        (True, "gzip, zstd", "the batches have the codecs ['gzip']"),
        (False, "gzip", "the batch at offset 0 is not idempotent"),
    ],
)
def test_batches_are_read_and_compared_with_the_claims_of_the_client(
    broker: Broker, is_idempotent: bool, claimed: str, why: str
) -> None:
    client = program(WRITES % (is_idempotent, claimed))
    topic = f"codecs-{is_idempotent}-{len(claimed)}"
    cell, _ = try_scenario(broker, client, BY_NAME["records"], topic, FEW)
    assert cell == Cell(outcome="passed" if why == claimed else "failed", note=why)


def test_a_crash_that_did_not_happen_fails(broker: Broker) -> None:
    cell, _ = try_scenario(broker, program(PASSED), BY_NAME["crash-of-leader"], "d", FEW)
    assert cell == Cell(outcome="failed", note="the planned crash did not happen")


def test_the_page_is_written_from_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(kept(), kept_examples())


def test_a_failed_cell_stands_out_and_a_cell_without_a_result_was_not_tried() -> None:
    examples = {"Go": Cell(outcome="failed", note="exit status 1")}
    lines = page((ROW,), examples).splitlines()
    assert "| Scenario | franz-go 1.2 |" in lines
    assert "| Metadata | passed |" in lines
    assert "| KIP-848 rebalance | not offered |" in lines
    assert "| Too large | **failed** |" in lines
    assert "| Transaction | not tried |" in lines
    assert "| franz-go | Too large | no answer | unknown |" in lines
    assert "| franz-go | KIP-848 rebalance | no such option |" in lines
    assert "| franz-go | Records | gzip\\|lz4 |" in lines
    assert "| Go | failed | exit status 1 |" in lines


def test_each_failed_cell_has_a_reason_and_each_reason_a_failed_cell() -> None:
    failed = {
        (row.client, name)
        for row in kept()
        for name, cell in row.cells.items()
        if cell.outcome == "failed"
    }
    assert failed == set(REASONS)


def test_results_name_clients_and_scenarios_that_exist() -> None:
    names = {scenario.name for scenario in SCENARIOS}
    for row in kept():
        assert row.client in installed.BY_NAME
        assert set(row.cells) <= names


def test_a_row_replaces_the_one_of_the_same_client(tmp_path: Path) -> None:
    path = tmp_path / "clients.json"
    assert kept(path) == []
    save(ROW, path)
    save(replace(ROW, version="1.3", cells={}), path)
    assert kept(path) == [replace(ROW, version="1.3", cells={})]


def test_the_results_of_examples_and_of_clients_are_kept_together(tmp_path: Path) -> None:
    path = tmp_path / "clients.json"
    assert kept_examples(path) == {}
    save(ROW, path)
    save_example("Go", Cell(outcome="failed", note="no answer"), path)
    save_example("Go", Cell(outcome="passed"), path)
    save(ROW, path)
    assert kept_examples(path) == {"Go": Cell(outcome="passed")}
    assert kept(path) == [ROW]


def test_the_documentation_shows_each_example_as_it_is_run() -> None:
    text = HOW_TO.read_text(encoding="utf-8")
    assert all(on_page(example) in text for example in EXAMPLES)


def test_each_example_was_run_and_passed() -> None:
    passed = Cell(outcome="passed")
    assert kept_examples() == {example.title: passed for example in EXAMPLES}


@pytest.mark.parametrize(
    ("text", "outcome", "why"),
    [("pass", "passed", ""), ("raise OSError('no answer')", "failed", "OSError: no answer")],
)
def test_an_example_passes_if_its_program_succeeds(
    broker: Broker, text: str, outcome: str, why: str
) -> None:
    example = replace(EXAMPLES[0], install=lambda: program(text))
    cell = try_example(broker, example)
    assert cell.outcome == outcome
    assert why in cell.note
