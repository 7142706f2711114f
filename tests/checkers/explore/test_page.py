"""The page works in a real browser: a click changes the address, which determines the state."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from checkers.counterexample_record import kept
from checkers.explore import traces
from checkers.explore.requests import Explorer, where
from checkers.explore.server import Server
from tests.checkers.explore.conftest import BUG
from tests.checkers.explore.test_recorded_lines import forbidden
from tests.chromium import css, logs, shown, started

STEPS = kept()["replication", "truncate-to-hw"].steps


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    made = started()
    yield made
    made.quit()


@contextmanager
def serving(explorer: Explorer) -> Iterator[Server]:
    with Server(explorer) as made:
        thread = threading.Thread(
            target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(Explorer(opened={**BUG, "path": ""})) as made:
        yield made


def until(browser: Chrome, what: Any) -> None:
    WebDriverWait(browser, 30, poll_frequency=0.05).until(lambda _: what())


def steps(browser: Chrome) -> int:
    return len(css(browser, "#path > li:not(.other)")) - 1


def test_clicks_and_keys_walk_through_states(browser: Chrome, server: Server) -> None:
    logs(browser)
    browser.get(server.url)
    until(browser, lambda: shown(browser, "#enabled .call"))
    assert shown(browser, "#enabled .call") == [
        "controller_elect_leader(b0)",
        "controller_elect_leader(b1)",
        "controller_shrink_isr(b0)",
        "controller_shrink_isr(b1)",
    ]
    # a step, by a click and by a key
    css(browser, "#enabled .call")[0].click()
    until(browser, lambda: steps(browser) == 1)
    until(browser, lambda: shown(browser, ".message.changed"))
    assert shown(browser, ".message.changed")[0].startswith("request[0] leader_epoch 0, leader b0")
    assert shown(browser, ".lane[data-name=b0] .badge") == ["registration.leader"]
    browser.find_element(By.TAG_NAME, "body").send_keys("1")
    until(browser, lambda: steps(browser) == 2)
    # back and forward
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ARROW_LEFT)
    until(browser, lambda: steps(browser) == 1)
    browser.find_element(By.ID, "forward").click()
    until(browser, lambda: steps(browser) == 2)
    assert "path=controller_elect_leader(b0)%3B%20" in browser.current_url
    # a disabled action has the conjunct that is false
    disabled = " ".join(shown(browser, "#disabled li"))
    assert "leader_write(b0) replica[b0].leader nothing is b0 is false, line 1" in disabled
    # the counterexample, whose address opens the same state again
    css(browser, "#properties button")[0].click()
    until(browser, lambda: steps(browser) == 8)
    assert shown(browser, "#path .broken") == ["✗ weak_isr"]
    assert "but 0 < log[b1].end_offset 0 is false" in shown(browser, "#properties .why")[0]
    link = browser.current_url
    state = shown(browser, ".lane")
    browser.get("about:blank")
    browser.get(link)
    until(browser, lambda: steps(browser) == 8)
    assert shown(browser, ".lane") == state
    console, asked = logs(browser)
    assert console == []
    assert {url for url in asked if not url.startswith((server.url, "data:", "about:"))} == set()


def test_a_link_with_a_forbidden_step_names_the_step(browser: Chrome, server: Server) -> None:
    browser.get(server.link({**BUG, "variant": "kip-320", "path": "; ".join(STEPS)}))
    until(browser, lambda: shown(browser, "#error"))
    (error,) = shown(browser, "#error")
    assert error.startswith("step 8, become_follower(b1, b0, leader_epoch 1), is not possible")
    assert steps(browser) == 7


def test_a_trace_of_a_broker_is_walked_line_by_line(browser: Chrome, tmp_path: Path) -> None:
    file = forbidden(tmp_path)
    opened = where(traces.opened(file))
    with serving(Explorer(opened=opened, traces=(file,))) as server:
        logs(browser)
        browser.get(server.link(opened))
        until(browser, lambda: shown(browser, "#needs"))
        # the forbidden line, in the state before it
        assert css(browser, "#lines .elements")[0].text == "b0 is broker 1, b1 is broker 2"
        assert shown(browser, "#lines .here.refused") != []
        (needs,) = shown(browser, "#needs")
        assert "No step of the spec explains this line: broker 1: advance the" in needs
        assert "advance_high_watermark(b0, mark 1): for f b1: as b1 ∈ led[0].maximal_isr" in needs
        assert steps(browser) == 2
        # the line before it is explained by the last step
        browser.find_element(By.TAG_NAME, "body").send_keys("[")
        until(browser, lambda: not shown(browser, "#needs"))
        (here,) = shown(browser, "#lines .here")
        assert "broker 1: append" in here
        assert here.endswith("1 step")
        assert "line=5" in browser.current_url
        # a line that changes nothing
        css(browser, "#lines li button")[0].click()
        until(browser, lambda: steps(browser) == 0)
        assert shown(browser, "#lines .here")[0].endswith("no step")
        # a step of the reader's own leaves the trace
        css(browser, "#enabled .call")[0].click()
        until(browser, lambda: steps(browser) == 1)
        assert shown(browser, "#lines .off") == ["The path leaves the trace at step 1."]
        console, _ = logs(browser)
        assert console == []


def test_a_search_marks_a_mistake_and_finds_a_state(browser: Chrome, server: Server) -> None:
    browser.get(server.link({**BUG, "path": "", "compare": "kip-320"}))
    until(browser, lambda: steps(browser) == 0)
    formula = browser.find_element(By.ID, "formula")
    formula.send_keys("true & (nexid == 1)")
    css(browser, "#search button[type=submit]")[0].click()
    until(browser, lambda: shown(browser, "#place"))
    marks = browser.find_element(By.ID, "place").get_attribute("textContent")
    assert marks == "true & (nexid == 1)\n        ^^^^^"
    formula.clear()
    formula.send_keys("log[b1].end_offset == 1")
    css(browser, "#search button[type=submit]")[0].click()
    until(browser, lambda: steps(browser) == 3)
    assert "found: 3 steps (shortest path" in browser.find_element(By.ID, "progress").text
    assert shown(browser, "#comparison h2") == ["truncate-to-hw and kip-320 after step 3"]
