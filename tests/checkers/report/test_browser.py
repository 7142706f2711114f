"""The report works in a real browser from a file: clicks have an effect, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from tests.chromium import css, logs, shown, started

Analysed = Callable[..., Path]

# a stale end, a duplicate with a lost write behind it, and what is sound around them
HISTORY = """
    p1  send k=a      -> ok @0
    p2  send k=b      ...
    p1  send k=c      -> ok @2
    p2  ...           -> ok @1
    c1  poll          -> ok k=a@0 k=a@3 k=d@4
    c2  end_offset k  -> ok @2
    p1  send k=d      -> ok @4
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    made = started()
    yield made
    made.quit()


@pytest.fixture
def page(browser: Chrome, analysed: Analysed) -> Chrome:
    anomalies = ("stale-end-offset", "duplicate", "lost-write", "inconsistent-offsets")
    folder = analysed(HISTORY, *(word for one in anomalies for word in ("--anomaly", one)))
    logs(browser)
    browser.get((folder / "report.html").as_uri())
    return browser


def test_the_report_opens_without_a_console_message_and_fetches_nothing(page: Chrome) -> None:
    assert page.find_element(By.TAG_NAME, "h1").text == "violated"
    assert shown(page, "tr.verdict th a") == ["stale-end-offset", "duplicate", "lost-write"]
    console, asked = logs(page)
    assert console == []
    assert [url for url in asked if not url.startswith("data:")] == [page.current_url]


def test_verdicts_are_filtered_by_state_and_by_words(page: Chrome) -> None:
    (holds,) = css(page, '[data-show="holds"]')
    holds.click()
    assert holds.get_attribute("aria-pressed") == "true"
    assert len(shown(page, "tr.verdict")) == 1
    assert shown(page, "details.finding") == []
    css(page, '[data-show="all"]')[0].click()
    search = page.find_element(By.ID, "search")
    search.send_keys("LOST earlier")
    assert [text.split()[1] for text in shown(page, "tr.verdict")] == ["lost-write"]
    assert len(shown(page, "details.finding")) == 1
    search.clear()
    search.send_keys("no such words")
    assert shown(page, "tbody.group") == []
    assert page.find_element(By.ID, "none-left").text == "no verdict matches"


def test_everything_is_expanded_and_collapsed(page: Chrome) -> None:
    page.find_element(By.ID, "collapse").click()
    assert shown(page, "svg.timeline") == []
    page.find_element(By.ID, "expand").click()
    pictures = [one.is_displayed() for one in css(page, "svg.timeline")]
    assert pictures == [True] * len(css(page, "details.row"))
    assert any("operation 0" in text for text in shown(page, "details.row pre"))


def test_a_link_of_the_table_opens_the_evidence(page: Chrome) -> None:
    page.find_element(By.ID, "collapse").click()
    (link,) = [one for one in css(page, "tr.verdict a") if one.text == "duplicate"]
    link.click()
    page.execute_async_script("setTimeout(arguments[0], 50)")
    assert shown(page, "details.finding[open] .claim") == ["duplicate"]


def test_a_replay_line_is_copied(page: Chrome) -> None:
    (button, *_) = css(page, "details.finding button.copy")
    button.click()
    page.execute_async_script("setTimeout(arguments[0], 50)")
    assert button.text == "copied"
    search = page.find_element(By.ID, "search")
    search.send_keys(Keys.CONTROL, "v")
    pasted = search.get_attribute("value") or ""
    assert pasted.startswith("urteil analyze history.parquet --engine local")


def test_an_operation_is_highlighted_in_the_text_and_in_the_picture(page: Chrome) -> None:
    (named, *_) = css(page, "details.row[open] a.op")
    number = named.get_attribute("data-op")
    ActionChains(page).move_to_element(named).perform()
    lit = css(page, ".lit")
    assert {one.get_attribute("data-op") for one in lit} == {number}
    assert {one.tag_name for one in lit} == {"a", "g"}


def test_the_report_is_dark_if_the_reader_prefers_dark(page: Chrome) -> None:
    def paper() -> str:
        return str(page.execute_script("return getComputedStyle(document.body).backgroundColor"))

    light = paper()
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    assert paper() != light
    page.find_element(By.ID, "theme").click()
    assert paper() == light
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_report_is_readable_without_scripts(page: Chrome) -> None:
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    page.refresh()
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert shown(page, ".needs-script") == []
    assert len(shown(page, "tr.verdict")) == 3
    assert "but no reader ever polled" in " ".join(shown(page, "details.row summary"))
    assert any(one.is_displayed() for one in css(page, "svg.timeline"))


def sideways(page: Chrome) -> int:
    return int(
        page.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
    )


def test_no_picture_is_wider_than_its_place_unless_it_scrolls(page: Chrome) -> None:
    assert sideways(page) == 0


@pytest.fixture
def phone(page: Chrome) -> Iterator[Chrome]:
    window = {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    yield page
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_a_phone_the_page_does_not_scroll_sideways_and_grounds_are_visible(
    phone: Chrome,
) -> None:
    assert sideways(phone) == 0
    phone.find_element(By.ID, "expand").click()
    assert sideways(phone) == 0
    assert len([text for text in shown(phone, "tr.verdict .grounds") if text]) == 3


def test_violations_come_first_then_their_evidence_then_the_rest_folded(page: Chrome) -> None:
    script = "return [...document.querySelectorAll('h2')].map((one) => one.textContent)"
    headings = page.execute_script(script)
    assert headings[:3] == ["Violated or undecided", "Evidence", "The other verdicts"]
    assert [text.split()[1] for text in shown(page, "tr.verdict")] == [
        "stale-end-offset",
        "duplicate",
        "lost-write",
    ]
    (rest,) = css(page, "#rest")
    assert rest.get_attribute("open") is None
    assert "1 holds" in rest.text


def test_labels_of_a_picture_lie_inside_it(page: Chrome) -> None:
    outside = page.execute_script("""
        return [...document.querySelectorAll("svg.timeline")].flatMap((svg) => {
          const frame = svg.getBoundingClientRect();
          return [...svg.querySelectorAll("text")]
            .map((text) => [text.textContent, text.getBoundingClientRect()])
            .filter(([, box]) => box.width)
            .filter(([, box]) => box.left < frame.left || box.right > frame.right + 1)
            .map(([text]) => text);
        });
    """)
    assert outside == []
