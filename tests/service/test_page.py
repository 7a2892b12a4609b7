"""The page in headless Chromium: by keyboard alone, in light and dark, with nothing of another host."""

import csv
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.conftest import REPOSITORY
from tests.service.pdf import pdf_with

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="Chromium and its driver are not here")
TEXT = "😀 Graph colouring with tabu search. We colour <b>random graphs</b> by tabu search & local search."
# Every text that is shown, its colour, and the colour behind it, through what is transparent on the way.
TEXTS_AND_GROUNDS = """
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const parts = (colour) => numbers(colour).length < 4 ? [...numbers(colour), 1] : numbers(colour);
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const ground = (node) => node === null ? [255, 255, 255, 1]
  : over(parts(getComputedStyle(node).backgroundColor), ground(node.parentElement));
const shown = (node) => node.checkVisibility() && !node.disabled && [...node.childNodes].some(
  (child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim());
const entry = (node, text, colour) => {
  const below = ground(node);
  return [text, `rgb(${over(parts(colour), below).slice(0, 3)})`, `rgb(${below.slice(0, 3)})`];
};
const found = [...document.body.querySelectorAll("*")].filter(shown).map(
  (node) => entry(node, node.textContent.trim(), getComputedStyle(node).color));
const text = document.getElementById("text");
found.push(entry(text, "placeholder", getComputedStyle(text, "::placeholder").color));
return found;
"""
SCREENSHOTS = Path(os.environ.get("SIMCKP_SCREENSHOTS", REPOSITORY / "reports" / "screenshots"))


@pytest.fixture(scope="module", params=["light", "dark"])
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1000,1100"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    media = [{"name": "prefers-color-scheme", "value": request.param}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    driver.scheme = request.param
    yield driver
    driver.quit()


def press(browser: Any, *keys: str) -> None:
    for key in keys:
        # As a keyboard does: what is sent to an input of files would be the name of one.
        webdriver.ActionChains(browser).send_keys(key).perform()


def items(browser: Any, kind: str) -> list[str]:
    return [item.text for item in browser.find_elements(By.CSS_SELECTOR, f"#{kind}-list li")]


def show(browser: Any, address: str) -> None:
    """Open the page; a browser that has just started may say that it is there before it is."""
    browser.get(address)
    shown = "return document.readyState === 'complete' && document.styleSheets.length > 0"
    WebDriverWait(browser, 30).until(lambda b: b.execute_script(shown))


def keep(browser: Any, state: str) -> None:
    """Keep a picture of the page for people to look at, once it can be read: every text has contrast."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(SCREENSHOTS / f"page-{state}-{browser.scheme}.png"))
    texts = browser.execute_script(TEXTS_AND_GROUNDS)
    assert texts
    faint = {text: contrast(ink, ground) for text, ink, ground in texts if contrast(ink, ground) < 4.5}
    assert faint == {}


def find(browser: Any, address: str) -> None:
    """Paste a text and ask, with the keyboard alone."""
    show(browser, address)
    press(browser, Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("id") == "text"
    browser.execute_cdp_cmd("Input.insertText", {"text": TEXT})
    webdriver.ActionChains(browser).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    WebDriverWait(browser, 30).until(lambda b: b.find_element(By.ID, "status").text.startswith("Done"))


def test_a_person_finds_keyphrases(browser: Any, address: str) -> None:
    find(browser, address)
    marked = browser.find_element(By.ID, "marked")
    assert marked.text == TEXT  # the document's own marks are shown, not obeyed
    marks = [mark.text for mark in browser.find_elements(By.CSS_SELECTOR, "#marked mark")]
    assert marks and all(mark in TEXT for mark in marks)
    assert len(items(browser, "present")) >= 3
    assert browser.find_element(By.ID, "said").text == "as the model chooses"
    keep(browser, "found")
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []
    requests = [
        entry["message"] for entry in browser.get_log("performance") if 'requestWillBeSent"' in entry["message"]
    ]
    assert requests and all(address in request or '"url":"data:' in request for request in requests)


def test_the_slider_by_keyboard(browser: Any, address: str) -> None:
    find(browser, address)
    chosen = items(browser, "present")
    for _ in range(20):
        press(browser, Keys.TAB)
        if browser.switch_to.active_element.get_attribute("id") == "least":
            break
    press(browser, Keys.END)
    assert "from" in browser.find_element(By.ID, "said").text
    assert items(browser, "present") == []
    assert browser.find_elements(By.CSS_SELECTOR, "#marked mark") == []
    assert browser.find_element(By.ID, "present-count").text == "(none)"
    keep(browser, "slider")
    press(browser, Keys.HOME)
    assert len(items(browser, "present")) >= len(chosen)
    press(browser, Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("id") == "own"
    press(browser, Keys.ENTER)
    assert items(browser, "present") == chosen


def test_a_file_is_opened_and_the_keyphrases_are_saved(browser: Any, address: str, tmp_path: Path) -> None:
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    show(browser, address)
    keep(browser, "empty")
    status = browser.find_element(By.ID, "status")
    (tmp_path / "paper.pdf").write_bytes(pdf_with("Tabu search of random graphs and local search"))
    browser.find_element(By.ID, "file").send_keys(str(tmp_path / "paper.pdf"))
    WebDriverWait(browser, 30).until(lambda _: "is open" in status.text)
    assert browser.find_element(By.ID, "text").get_property("value") == "Tabu search of random graphs and local search"
    (tmp_path / "broken.pdf").write_bytes(b"nothing")
    browser.find_element(By.ID, "file").send_keys(str(tmp_path / "broken.pdf"))
    WebDriverWait(browser, 30).until(lambda _: "broken.pdf was not opened: body: no PDF file" in status.text)
    keep(browser, "broken-file")
    (tmp_path / "note.txt").write_text(TEXT, encoding="utf-8")
    browser.find_element(By.ID, "file").send_keys(str(tmp_path / "note.txt"))
    WebDriverWait(browser, 30).until(lambda _: "note.txt is open" in status.text)
    browser.find_element(By.ID, "absent").click()
    browser.find_element(By.ID, "find").click()
    WebDriverWait(browser, 30).until(lambda _: status.text.startswith("Done"))
    names = {"save-csv": "keyphrases.csv", "save-json": "keyphrases.json", "save-bib": "keywords.bib"}
    for button, name in names.items():
        browser.find_element(By.ID, button).click()
        WebDriverWait(browser, 30).until(lambda _, name=name: (tmp_path / name).exists())
    phrases = [phrase["phrase"] for phrase in json.loads((tmp_path / "keyphrases.json").read_text(encoding="utf-8"))]
    assert len(phrases) == len(items(browser, "present")) >= 3
    with (tmp_path / "keyphrases.csv").open(encoding="utf-8", newline="") as source:
        assert [row["phrase"] for row in csv.DictReader(source)] == phrases
    assert (tmp_path / "keywords.bib").read_text(encoding="utf-8") == f"keywords = {{{'; '.join(phrases)}}}\n"


def test_colours_have_contrast(browser: Any, address: str) -> None:
    show(browser, address)
    script = "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
    ink, ground = browser.execute_script(script)
    assert contrast(ink, ground) >= 7
    dark = sum(channels(ground)) < 3 * 128
    assert dark == (browser.scheme == "dark")


def test_a_refusal_is_shown(browser: Any, address: str) -> None:
    find(browser, address)
    browser.execute_script("document.getElementById('text').removeAttribute('maxlength')")
    browser.execute_script("document.getElementById('text').value = 'a'.repeat(400001)")
    browser.find_element(By.ID, "find").send_keys(Keys.ENTER)
    WebDriverWait(browser, 30).until(lambda b: b.find_element(By.ID, "status").text.startswith("No keyphrases"))
    assert "400000" in browser.find_element(By.ID, "status").text
    assert not browser.find_element(By.ID, "result").is_displayed()
    keep(browser, "refused")


def test_it_fits_a_telephone(browser: Any, address: str) -> None:
    whole = browser.get_window_size()
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        find(browser, address)
        keep(browser, "telephone")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert browser.get_window_size() == whole


def channels(colour: str) -> list[float]:
    return [float(part) for part in colour.split("(")[1].rstrip(")").split(",")[:3]]


def contrast(first: str, second: str) -> float:
    """Return the ratio of two colours by WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [value / 255 for value in channels(colour)]
        red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)
