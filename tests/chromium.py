"""Starts a headless Chromium for tests of pages."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By


def started() -> Chrome:
    """Returns a headless Chromium; without Chromium the test is skipped, or fails in CI."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        missing = "no chromium and chromedriver: apt-get install chromium chromium-driver"
        assert not os.environ.get("CI"), missing
        pytest.skip(missing)
    options = ChromeOptions()
    options.binary_location = chromium
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1240,1600"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return Chrome(options=options, service=ChromeService(driver))


def logs(browser: Any) -> tuple[list[str], list[str]]:
    """Returns the browser's console messages and requested URLs since the last call."""
    console = [entry["message"] for entry in browser.get_log("browser")]
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        one["params"]["request"]["url"]
        for one in messages
        if one["method"] == "Network.requestWillBeSent"
    ]
    return console, asked


def css(browser: Chrome, selector: str) -> list[Any]:
    return [*browser.find_elements(By.CSS_SELECTOR, selector)]


def shown(browser: Chrome, selector: str) -> list[str]:
    return [one.text for one in css(browser, selector) if one.is_displayed()]
