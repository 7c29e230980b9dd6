"""The page in a real browser: Debian's Chromium, from a file, without a network."""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from conftest import REPOSITORY, Rendered
from playwright.sync_api import Page, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


@dataclass
class Watched:
    """A page, and what it did that it should not."""

    page: Page
    faults: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on("console", lambda m: self.faults.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "data:")) else self.faults.append(r.url),
        )


@pytest.fixture(scope="module")
def browser():
    if shutil.which(CHROMIUM) is None:
        pytest.fail(f"{CHROMIUM} is missing; install it: apt-get install -y chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def visit(browser):
    """Opens a file of an article; at the end nothing may have gone wrong on the page."""
    opened = []

    def open_page(article, name="article.html", fragment="", **options):
        context = browser.new_context(**({"viewport": WIDE} | options))
        watched = Watched(context.new_page())
        watched.watch()
        opened.append((context, watched))
        watched.page.goto((article.out / name).as_uri() + fragment)
        return watched.page

    yield open_page
    for context, watched in opened:
        context.close()
        assert watched.faults == []


def test_a_click_opens_the_chain_of_a_number(visit, won):
    page = visit(won)
    page.locator('[data-n="output_rate/drafter/code@1"]:visible').first.click()
    drawer = page.get_by_role("dialog")
    expect(drawer).to_be_visible()
    text = drawer.inner_text()
    row = won.study.estimates["output_rate", "drafter", "code@1"]
    assert "95 % interval" in text and f"exact value {row['value']}" in text
    for part in ("estimates.parquet", "cells.parquet", "requests.parquet", "rows 24-35"):
        assert part in text
    assert won.study.digest(won.study.file("claims/estimates.parquet"))[:12] in text
    assert "rules/all.smk" in text and "vllm serve resources/tiny-target" in text
    assert "Using CPU attention backend" in text and "server.log" in text
    assert drawer.locator(".strip circle").count() > 3
    page.wait_for_url("**#n-output_rate/drafter/code@1")


def test_links_of_the_drawer_lead_to_files_that_exist(visit, won):
    page = visit(won)
    page.locator('[data-n="output_rate/drafter/code@1"]:visible').first.click()
    links = page.locator("dialog a[href^='../']").evaluate_all("links => links.map(a => a.href)")
    assert len(links) >= 5
    missing = [link for link in links if not Path(unquote(urlparse(link).path)).exists()]
    assert not missing


def test_the_keyboard_opens_closes_and_returns(visit, won):
    page = visit(won)
    first = page.locator("a.n").first
    first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Close"
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert first.evaluate("node => node === document.activeElement")
    assert "#" not in page.url


def test_every_number_can_be_reached_with_the_tab_key(visit, won):
    page = visit(won)
    assert page.locator("a.n:not([href])").count() == 0
    page.locator("h1").click()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.n ?? ''"))
    assert len(reached - {""}) > 12


def test_an_address_with_a_number_opens_it(visit, won):
    page = visit(won, fragment="#n-output_rate/drafter/code@1")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert "drafter, code@1" in page.get_by_role("dialog").inner_text()
    page.evaluate("location.hash = '#n-count/requests'")
    page.wait_for_function(
        "document.querySelector('dialog').innerText.includes('count of requests')"
    )


def test_a_mark_of_a_figure_is_a_number_too(visit, won):
    page = visit(won)
    page.locator("figure#output-rate .panel a").first.click()
    assert "output rate" in page.get_by_role("dialog").inner_text()


def test_a_figure_unfolds_its_data_and_offers_them_as_a_file(visit, won):
    page = visit(won)
    data = page.locator("figure#output-rate details")
    assert not data.locator("table").is_visible()
    data.locator("summary").click()
    assert data.locator("tbody tr").count() == 16
    with page.expect_download() as download:
        data.get_by_text("Download as CSV").click()
    saved = Path(download.value.path()).read_text(encoding="utf-8")
    assert saved == (won.out / "figures/output-rate.csv").read_text(encoding="utf-8")


def test_tables_sort_by_exact_value(visit, won):
    page = visit(won)
    table = page.locator("h3:has-text('essays, 1 stream') + .wide table")
    column = table.locator("th", has_text="output rate")
    read = "rows => rows.map(r => Number(r.cells[1].querySelector('[data-v]').dataset.v))"
    column.locator("button").click()
    rising = table.locator("tbody tr").evaluate_all(read)
    assert rising == sorted(rising) and column.get_attribute("aria-sort") == "ascending"
    column.locator("button").click()
    assert table.locator("tbody tr").evaluate_all(read) == sorted(rising, reverse=True)


def test_the_audit_page_searches_and_sorts_every_table(visit, won):
    page = visit(won, "audit.html")
    total = page.locator("#found").inner_text()
    assert int(re.sub(r"\D", "", total)) > 300
    page.locator("#search").fill("degenerate-output")
    assert page.locator("[data-audit=unusable] tbody tr").count() == 3
    assert page.locator("[data-audit=gates] tbody tr").count() == 0
    page.locator("#search").fill("drafter ratio essays@1")
    rows = page.locator("[data-audit=numbers] tbody tr")
    assert 0 < rows.count() < 30
    page.locator("#search").fill("")
    head = page.locator("[data-audit=numbers] th", has_text="exact")
    head.locator("button").click()
    head.locator("button").click()
    values = page.locator("[data-audit=numbers] tbody tr td:nth-child(4)").evaluate_all(
        "cells => cells.slice(0, 40).map(c => Number(c.title))"
    )
    assert values == sorted(values, reverse=True)


def test_a_number_of_the_audit_page_leads_to_its_drawer(visit, won):
    page = visit(won, "audit.html")
    page.locator("[data-audit=numbers] tbody a").first.click()
    page.wait_for_url(re.compile(r"article\.html#n-"))
    expect(page.get_by_role("dialog")).to_be_visible()


def test_print_carries_numbered_notes_and_hides_the_controls(visit, won):
    page = visit(won)
    page.emulate_media(media="print")
    notes = page.locator(".notes li")
    expect(notes.first).to_be_visible()
    assert notes.count() > 150
    expect(page.locator(".contents")).to_be_hidden()
    mark = page.locator("a.n").first.evaluate("n => getComputedStyle(n, '::after').content")
    assert mark == '"1"'
    assert page.pdf(format="A4")[:4] == b"%PDF"


def test_without_a_script_every_number_leads_to_its_note(visit, won):
    page = visit(won, java_script_enabled=False)
    page.locator("a.n").first.click()
    expect(page.locator(".notes li").first).to_be_visible()
    target = page.locator(".notes li").first.get_attribute("id")
    assert page.url.endswith(f"#{target}")


def test_what_a_model_wrote_is_shown_as_text(visit, hostile):
    page = visit(hostile)
    page.locator('[data-n="output_rate/drafter/code@1"]:visible').first.click()
    page.locator("dialog summary").first.click()
    shown = page.locator("dialog details pre").first
    expect(shown).to_contain_text("</script><img src=x onerror")
    page.goto((hostile.out / "audit.html").as_uri())
    page.locator("#search").fill("drafter")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_what_config_says_of_an_arm_is_shown_as_text(visit, hostile):
    page = visit(hostile)
    expect(page.locator("h2#the-arms ~ .wide").first).to_contain_text("onerror")
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["article.html", "audit.html"])
def test_a_phone_never_scrolls_sideways(visit, won, name, scheme):
    page = visit(won, name, viewport=PHONE, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    if name == "article.html":
        page.locator("a.n").first.click()
        box = page.get_by_role("dialog").bounding_box()
        assert box["x"] >= 0 and box["width"] <= PHONE["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("study", ["h200-what-if", "two-cores"])
def test_an_archived_page_never_scrolls_sideways(visit, study):
    archive = Rendered(REPOSITORY, None, REPOSITORY / f"results/{study}/article")
    for name in ("article.html", "audit.html"):
        page = visit(archive, name, viewport=PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name


@pytest.mark.parametrize("width", [360, 970, 1200, 1250, 1600])
def test_no_table_reaches_over_the_edge_of_the_window(visit, width):
    archive = Rendered(REPOSITORY, None, REPOSITORY / "results/h200-what-if/article")
    page = visit(archive, viewport={"width": width, "height": 900})
    page.add_style_tag(content="* { content-visibility: visible !important; }")
    ends = page.locator(".wide").evaluate_all(
        "tables => tables.map(table => table.getBoundingClientRect().right)"
    )
    assert ends and max(ends) <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_mode_is_dark(visit, won):
    page = visit(won, color_scheme="dark")
    shade = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", shade)[:3])) < 60


def test_far_parts_are_laid_out_when_they_come_near_but_on_paper_at_once(visit, won):
    """What keeps the first click quick; benchmarks/first_click.py says how quick."""
    page = visit(won)
    style = "node => getComputedStyle(node).contentVisibility"
    for part in ("main > figure", "main > .wide", ".notes"):
        assert page.locator(part).first.evaluate(style) == "auto", part
    page.emulate_media(media="print")
    assert page.locator("main > .wide").first.evaluate(style) == "visible"
