"""The page in a real browser: no errors, no sideways scrolling, no foreign script, read-outs that work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_runs import in_a_row, task_legs, write_run
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from relaymark.explain.explaining import Asked, explain_run
from relaymark.measure.summary import Summary
from relaymark.report.explain import write_explanation
from relaymark.report.html import write_html
from relaymark.trace import Kind

from . import fake_summary
from .browser import chromium, full_page, prefer, resize

WIDTHS = (1280, 400)
# Text of one drawing that lies over other text of it, or out of the page: what an eye would notice first.
OVERLAPS = """
const found = [];
for (const draw of document.querySelectorAll('svg.draw')) {
  const texts = [...draw.querySelectorAll('text')].filter((t) => getComputedStyle(t).display !== 'none');
  const boxes = texts.map((t) => t.getBoundingClientRect());
  for (let i = 0; i < boxes.length; i++) {
    const a = boxes[i];
    if (a.width && (a.left < 0 || a.right > innerWidth)) found.push('out: ' + texts[i].textContent);
    for (let j = i + 1; j < boxes.length; j++) {
      const b = boxes[j];
      const across = a.left < b.right - 1 && b.left < a.right - 1;
      if (a.width && b.width && across && a.top < b.bottom - 4 && b.top < a.bottom - 4)
        found.push(texts[i].textContent + ' / ' + texts[j].textContent);
    }
  }
}
return found;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def open_page(browser: webdriver.Chrome, summary: Summary, folder: Path) -> None:
    browser.get_log("browser")
    browser.get(write_html(summary, folder / "report.html").as_uri())


def complaints(browser: webdriver.Chrome) -> list[Any]:
    return [entry["message"] for entry in browser.get_log("browser")]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "name", ["valid_run", "invalid_run", "failing_run", "embeddings_run", "huge_run", "one_request_run"]
)
def test_pages_look_right(browser: webdriver.Chrome, tmp_path: Path, name: str, width: int) -> None:
    resize(browser, width)
    prefer(browser, "dark" if width == 400 else "light")
    open_page(browser, getattr(fake_summary, name)(), tmp_path)
    full_page(browser, tmp_path / f"{name}-{width}.png")
    assert (tmp_path / f"{name}-{width}.png").stat().st_size > 10_000
    assert complaints(browser) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    assert browser.execute_script(OVERLAPS) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_text_runs_nothing_and_breaks_no_layout(browser: webdriver.Chrome, tmp_path: Path, width: int) -> None:
    resize(browser, width)
    open_page(browser, fake_summary.hostile_run(), tmp_path)
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert complaints(browser) == []
    assert browser.execute_script("return window.pwned === undefined")
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    assert browser.execute_script("return getComputedStyle(document.body).display") == "block"
    assert browser.find_elements(By.CSS_SELECTOR, "img, a, iframe") == []
    # The hover read-out takes names from data attributes: they must come out as text there too.
    hover(browser, ".plot[data-read]")
    assert browser.execute_script("return window.pwned === undefined")
    assert browser.find_elements(By.CSS_SELECTOR, ".readout img, .readout script") == []


def hover(browser: webdriver.Chrome, selector: str, dx: int = 0) -> None:
    plot = browser.find_element(By.CSS_SELECTOR, selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    ActionChains(browser, duration=0).move_to_element(plot).move_by_offset(dx, 0).perform()


def test_hovering_reads_values_at_the_percentile(browser: webdriver.Chrome, tmp_path: Path) -> None:
    resize(browser, 1280)
    summary = fake_summary.valid_run()
    open_page(browser, summary, tmp_path)
    plot = browser.find_element(By.CSS_SELECTOR, ".plot[data-read]")
    hover(browser, ".plot[data-read]")
    box = plot.find_element(By.CSS_SELECTOR, ".readout")
    assert box.is_displayed()
    assert box.find_element(By.TAG_NAME, "b").text.startswith("p")
    assert "concurrency 4" in box.text
    assert " ms" in box.text
    assert complaints(browser) == []


def test_the_theme_follows_the_reader_and_the_button(browser: webdriver.Chrome, tmp_path: Path) -> None:
    resize(browser, 1280)
    paper = "return getComputedStyle(document.body).backgroundColor"
    prefer(browser, "light")
    open_page(browser, fake_summary.one_request_run(), tmp_path)
    assert browser.execute_script(paper) == "rgb(255, 255, 255)"
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(paper) == "rgb(18, 22, 27)"
    prefer(browser, "dark")
    browser.refresh()
    assert browser.execute_script(paper) == "rgb(18, 22, 27)"
    prefer(browser, "dark", media="print")
    assert browser.execute_script(paper) == "rgb(255, 255, 255)"
    prefer(browser, "light")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_explanations_sliders_answer_offline_and_the_page_fits(
    browser: webdriver.Chrome, tmp_path: Path, width: int
) -> None:
    """The textbook's pipeline: with generation three times as fast a task is 1.83 times as fast."""
    parts = in_a_row([("answer", Kind.LLM, 68_000_000), ("", Kind.SEARCH, 12_000_000), ("", Kind.RERANK, 20_000_000)])
    legs = [leg for task in range(12) for leg in task_legs(task, task * 200_000_000, parts)]
    page = tmp_path / "explain.html"
    write_explanation(explain_run(write_run(tmp_path / "run", legs), Asked(faster=("answer=3",))), page)
    resize(browser, width)
    browser.get_log("browser")
    browser.get(page.as_uri())
    answer = browser.find_element(By.ID, "speedup")
    assert answer.text == "1.00 × faster"
    slider = "const s = document.getElementById('slide0'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));"
    browser.execute_script(slider, "1.6")  # 2 to the 1.6th is 3.03
    assert answer.text == "1.84 × faster"
    browser.execute_script(slider, "5")  # the right end: no time at all
    assert answer.text == "3.13 × faster"
    assert complaints(browser) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    full_page(browser, tmp_path / f"explain-{width}.png")
