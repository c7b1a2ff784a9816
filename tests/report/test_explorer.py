"""The explorer in a real browser: filters, sorting, toggles, plots; text that must stay text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from relaymark.errors import ConfigError
from relaymark.published import Row, chains, read_published
from relaymark.published.normalise import normalise
from relaymark.published.sample import sample_file
from relaymark.report.published.explorer import render_explorer, write_explorer

from .browser import chromium, full_page, prefer, resize

EVIL = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>\u202e&quot;\x07"


def sample() -> list[Row]:
    with sample_file() as path:
        return read_published(path).rows


def hostile() -> list[Row]:
    fields = dict.fromkeys(
        ("organization", "platform", "system", "framework", "processor", "notes", "accuracy", "weights", "accelerator"),
        EVIL,
    )
    plain = {"result": "12.5", "units": "Tokens/s", "benchmark": "whisper", "scenario": "Offline", "division": "closed"}
    one = normalise("v1", 2, {**fields, **plain, "total": "8", "nodes": "1", "availability": EVIL}, {})
    two = normalise("v1", 3, {**fields, **plain, "total": "16", "nodes": "2", "result": "30"}, {})
    odd = normalise(
        EVIL, 4, {**fields, "result": EVIL, "units": EVIL, "benchmark": EVIL, "scenario": EVIL, "division": EVIL}, {}
    )
    return [one, two, odd]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def open_page(browser: webdriver.Chrome, rows: list[Row], folder: Path, hash_: str = "", width: int = 1280) -> None:
    resize(browser, width)
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(write_explorer(rows, folder / "published.html").as_uri() + hash_)


def complaints(browser: webdriver.Chrome) -> list[Any]:
    return [entry["message"] for entry in browser.get_log("browser")]


def ids(browser: webdriver.Chrome) -> list[str]:
    return browser.execute_script("return [...document.querySelectorAll('tr.row')].map((tr) => tr.dataset.id)")


def figures(browser: webdriver.Chrome) -> list[str]:
    return browser.execute_script("return [...document.querySelectorAll('tr.row .fig')].map((td) => td.textContent)")


def choose(browser: webdriver.Chrome, name: str, value: str) -> None:
    """As a reader chooses, in one round trip to the browser; it fails where there is no such choice."""
    chosen = """
    const select = document.querySelector(`select[data-name='${arguments[0]}']`);
    select.value = arguments[1];
    select.dispatchEvent(new Event('change'));
    return document.querySelector(`select[data-name='${arguments[0]}']`).value;"""
    assert browser.execute_script(chosen, name, value) == value


def search(browser: webdriver.Chrome, words: str) -> None:
    """As pasted: one key after the other is as many renderings."""
    box = browser.find_element(By.ID, "search")
    browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", box, words
    )


def press(browser: webdriver.Chrome, holder: str, value: str) -> None:
    browser.find_element(By.CSS_SELECTOR, f"#{holder} button[data-value='{value}']").click()


def test_the_page_is_one_file_that_loads_nothing() -> None:
    text = render_explorer(sample())
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src &#39;none&#39;; style-src &#39;sha256-")
    assert "unsafe" not in policy
    assert not re.findall(r"""(?:src|href|srcset|action)\s*=\s*["'](?!#)""", text)
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
    with pytest.raises(ConfigError, match="No row"):
        write_explorer([], Path("nowhere.html"))


def test_nothing_from_a_file_leaves_its_block() -> None:
    text = render_explorer(hostile())
    assert text.count("<script") == 2
    assert "<img" not in text
    assert "\u202e" not in text
    assert "\x07" not in text


def test_filters_narrow_and_say_how_many_are_left(browser: webdriver.Chrome, tmp_path: Path) -> None:
    open_page(browser, sample(), tmp_path)
    # it starts with what can be ranked: closed rows of the commonest benchmark and scenario
    assert browser.find_element(By.ID, "head").text == "gpt-oss-120b Offline: 8 rows"
    assert figures(browser)[:2] == ["11,375", "6,500.09"]
    Select(browser.find_element(By.CSS_SELECTOR, "[data-name='availability']")).select_by_value("available")
    assert browser.find_element(By.ID, "head").text == "gpt-oss-120b Offline: 7 rows"
    choose(browser, "organization", "Acme")
    choose(browser, "round", "made-up-2")
    assert ids(browser) == ["made-up-2:4", "made-up-2:6"]
    # a choice only offers what the others leave
    options = browser.execute_script("return [...document.querySelector('[data-name=count]')].map((o) => o.value)")
    assert options == ["", "8", "64"]
    browser.find_element(By.ID, "reset").click()
    search(browser, "CASSINI vllm")
    assert ids(browser) == ["made-up-2:10", "made-up-2:11"]
    search(browser, "cassini nobody")
    assert ids(browser) == []
    assert browser.find_element(By.ID, "head").text == "No row is left"
    assert complaints(browser) == []


def test_what_cannot_be_compared_is_not_ranked(browser: webdriver.Chrome, tmp_path: Path) -> None:
    open_page(browser, sample(), tmp_path)
    assert not browser.find_elements(By.CSS_SELECTOR, ".refused")
    tags = [tag.text for tag in browser.find_elements(By.CSS_SELECTOR, ".unlike .tag")]
    assert "availability available / preview" in tags
    assert any(tag.startswith("scale") for tag in tags)
    marks = "return [...document.querySelectorAll('tr.row td.mark')].map((td) => td.textContent)"
    assert browser.execute_script(marks)[:3] == ["1", "2", "3"]
    choose(browser, "benchmark", "")
    refused = browser.find_element(By.CSS_SELECTOR, ".refused").text
    assert refused.startswith("No ranking: rows of different benchmark")
    assert set(browser.execute_script(marks)) == {""}
    choose(browser, "scenario", "")
    choose(browser, "division", "")
    assert "scenario, division, unit" in browser.find_element(By.CSS_SELECTOR, ".refused").text
    assert complaints(browser) == []


def test_sorting_by_a_heading(browser: webdriver.Chrome, tmp_path: Path) -> None:
    open_page(browser, sample(), tmp_path, "#round=made-up-2")

    def click(column: str) -> str | None:
        browser.find_element(By.CSS_SELECTOR, f"th[data-column='{column}'] button").click()
        return browser.find_element(By.CSS_SELECTOR, f"th[data-column='{column}']").get_attribute("aria-sort")

    best_first = ids(browser)
    assert click("figure") == "ascending"
    assert ids(browser) == best_first[::-1]
    assert click("figure") == "descending"
    assert ids(browser) == best_first
    assert click("id") == "ascending"
    assert ids(browser) == sorted(best_first, key=lambda each: int(each.rpartition(":")[2]))
    assert click("system") == "descending"
    assert ids(browser)[0] == "made-up-2:8"
    assert len(browser.find_elements(By.CSS_SELECTOR, "th[aria-sort]")) == 1


def test_the_page_divides_as_the_program_does(
    browser: webdriver.Chrome, tmp_path: Path, both_rounds: list[Row]
) -> None:
    open_page(browser, both_rounds, tmp_path)
    for per in ("system", "accelerator", "node"):
        told = browser.execute_script(f"return explorer.rows.map((row) => [row.id, explorer.per(row, '{per}')])")
        assert dict(told) == {row.id: row.per(per) for row in both_rounds}


def test_toggles_change_figure_heading_and_axis(browser: webdriver.Chrome, tmp_path: Path) -> None:
    open_page(browser, sample(), tmp_path, "#round=made-up-2&organization=Acme")
    head = "th[data-column='figure']"
    assert browser.find_element(By.CSS_SELECTOR, head).text.startswith("tokens/s per accelerator")
    assert figures(browser) == ["6,500.09", "6,171.88"]
    press(browser, "per", "system")
    assert figures(browser) == ["395,000", "52,000.7"]
    assert not browser.find_elements(By.CSS_SELECTOR, "th[data-column='system']")
    press(browser, "per", "node")
    assert browser.find_element(By.ID, "yname").text == "tokens/s per node"
    assert figures(browser) == ["52,000.7", "49,375.1"]
    pressed = browser.find_elements(By.CSS_SELECTOR, "#per button[aria-pressed='true']")
    assert [button.text for button in pressed] == ["Per node"]
    assert complaints(browser) == []


def test_the_plot_joins_the_sizes_of_one_submitter(browser: webdriver.Chrome, tmp_path: Path) -> None:
    rows = [row for row in sample() if row.round == "made-up-2"]
    open_page(browser, rows, tmp_path)
    shown = [row for row in rows if row.key == ("gpt-oss-120b", "Offline") and row.division == "closed"]
    lines = browser.find_elements(By.CSS_SELECTOR, "#plot line.line")
    own = [chain for chain in chains(shown) if chain.submitter]
    assert len(lines) == sum(len(chain.points) - 1 for chain in own) == 2
    assert len(browser.find_elements(By.CSS_SELECTOR, "#plot circle")) == len(shown)
    press(browser, "axis", "share")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#plot circle")) == 4
    told = browser.execute_script("""
        const shown = explorer.rows.filter((r) => r.scenario === 'Offline' && r.division === 'closed');
        const each = (row) => explorer.per(row, 'accelerator');
        return explorer.chains(shown, 'accelerator').filter((c) => c.length > 1).map((c) => each(c[1]) / each(c[0]));
    """)
    assert sorted(told) == pytest.approx(sorted(chain.points[-1].efficiency for chain in own))
    dot = browser.find_elements(By.CSS_SELECTOR, "#plot circle")[1]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", dot)
    ActionChains(browser, duration=0).move_to_element(dot).perform()
    tip = browser.find_element(By.CSS_SELECTOR, ".tip")
    assert tip.is_displayed()
    assert "% of the smallest size" in tip.text
    assert complaints(browser) == []


def test_a_row_opens_and_says_what_is_odd(browser: webdriver.Chrome, tmp_path: Path) -> None:
    open_page(browser, sample(), tmp_path, "#division=open")
    browser.find_element(By.CSS_SELECTOR, "tr.row").click()
    detail = browser.find_element(By.CSS_SELECTOR, "tr.detail").text
    assert "70000.3 Tokens/s" in detail
    assert "what ran may be another model" in detail
    browser.find_element(By.CSS_SELECTOR, "tr.row").click()
    assert not browser.find_elements(By.CSS_SELECTOR, "tr.detail")


def test_a_finding_leads_to_its_rows(browser: webdriver.Chrome, tmp_path: Path) -> None:
    open_page(browser, sample(), tmp_path)
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    link = browser.find_element(By.CSS_SELECTOR, "button[data-row='made-up-2:16']")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
    link.click()
    assert ids(browser) == ["made-up-2:16"]
    assert browser.find_element(By.CSS_SELECTOR, "tr.detail").is_displayed()


def test_a_view_can_be_kept_by_its_address(browser: webdriver.Chrome, tmp_path: Path) -> None:
    open_page(browser, sample(), tmp_path)
    choose(browser, "scenario", "Server")
    press(browser, "per", "system")
    kept, rows = browser.current_url, ids(browser)
    browser.get("about:blank")
    browser.get(kept)
    assert ids(browser) == rows
    assert "Server" in browser.find_element(By.ID, "head").text
    open_page(browser, sample(), tmp_path, "#benchmark=%00<b>&per=alert(1)&sort=constructor&axis=__proto__&x=1")
    assert complaints(browser) == []
    assert "No row" in browser.find_element(By.ID, "head").text


@pytest.mark.parametrize("width", [1280, 400])
def test_it_looks_right(browser: webdriver.Chrome, tmp_path: Path, width: int) -> None:
    prefer(browser, "dark" if width == 400 else "light")
    open_page(browser, sample(), tmp_path, width=width)
    full_page(browser, tmp_path / f"explorer-{width}.png")
    assert (tmp_path / f"explorer-{width}.png").stat().st_size > 10_000
    assert complaints(browser) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    overlapping = """
    const boxes = [...document.querySelectorAll('#plot text.tx')].map((t) => t.getBoundingClientRect());
    return boxes.filter((a, i) => boxes.some((b, j) => i < j && a.left < b.right && b.left < a.right)).length;"""
    assert browser.execute_script(overlapping) == 0
    paper = "return getComputedStyle(document.body).backgroundColor"
    assert browser.execute_script(paper) == ("rgb(18, 22, 27)" if width == 400 else "rgb(255, 255, 255)")
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(paper) == ("rgb(255, 255, 255)" if width == 400 else "rgb(18, 22, 27)")
    prefer(browser, "light")


def test_hostile_text_stays_text(browser: webdriver.Chrome, tmp_path: Path) -> None:
    open_page(browser, hostile(), tmp_path, "#benchmark=&scenario=&division=", width=400)
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for row in range(len(ids(browser))):
        browser.find_elements(By.CSS_SELECTOR, "tr.row")[row].find_element(By.CSS_SELECTOR, ".fig").click()
        assert browser.find_element(By.CSS_SELECTOR, "tr.detail")
    assert len(ids(browser)) == 3
    for dot in browser.find_elements(By.CSS_SELECTOR, "#plot circle"):
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", dot)
        ActionChains(browser, duration=0).move_to_element(dot).perform()
    assert browser.execute_script("return window.pwned === undefined")
    assert browser.find_elements(By.CSS_SELECTOR, "main img, main script, main a, iframe") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") == 400
    assert complaints(browser) == []


@pytest.fixture(scope="module")
def both_rounds() -> list[Row]:
    """The real rounds where they are, else the sample and rows that cannot be divided."""
    data = Path(__file__).parents[2] / ".." / "shared" / "data"
    files = [data / "mlperf_v51_summary_results.json", data / "mlperf_v61_results.tsv"]
    if all(path.is_file() for path in files):
        return [row for path in files for row in read_published(path).rows]
    odd = [msgspec.structs.replace(row, id=f"odd:{n}", accelerators=n or None) for n, row in enumerate(sample()[:4])]
    return [*sample(), *odd, *hostile()[:2]]
