"""The page in a real browser: no errors, no requests, working tables, nothing wider than a phone."""

from __future__ import annotations

import shutil

import pytest

pytestmark = pytest.mark.browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    pytest.importorskip("playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser, report):
    """Return a function that opens the page at a width and theme; afterwards nothing may have gone wrong."""
    problems: list[str] = []

    def opened(width: int, theme: str = "light"):
        page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=theme)
        page.on("pageerror", lambda error: problems.append(f"page error: {error}"))
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.on(
            "request", lambda r: None if r.url.startswith("file:") else problems.append(f"request: {r.url}")
        )
        page.goto((report / "report.html").as_uri())
        return page

    yield opened
    assert not problems


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows(open_page, width, theme):
    page = open_page(width, theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """(width) => Array.from(document.querySelectorAll('main *'))
            .filter((e) => e.getBoundingClientRect().right > width + 1 && !e.closest('.scroll') && !e.closest('svg'))
            .map((e) => e.tagName + ' ' + e.className)""",
        width,
    )
    assert wide == []


def test_themes_differ_and_ink_follows(open_page):
    seen = set()
    for theme in ("light", "dark"):
        page = open_page(1280, theme)
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        ink = page.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill")
        assert paper != ink
        seen.add((paper, ink))
    assert len(seen) == 2


def test_sorting_a_column_up_and_down(open_page):
    page = open_page(1280)
    header = page.locator("#all-records thead th", has_text="time").first
    cells = (
        "Array.from(document.querySelectorAll('#all-records tbody tr'), r => r.cells[5].dataset.value ?? null)"
    )
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    values = page.evaluate(cells)
    numbers = [float(v) for v in values if v is not None]
    assert numbers == sorted(numbers) and len(numbers) > 10
    assert values[len(numbers) :] == [None] * (len(values) - len(numbers)), "empty cells come last"
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    numbers = [float(v) for v in page.evaluate(cells) if v is not None]
    assert numbers == sorted(numbers, reverse=True)


def test_filtering_by_words_and_by_choice(open_page):
    page = open_page(1280)
    visible = "Array.from(document.querySelectorAll('#all-records tbody tr:not([hidden])'), r => r.textContent)"
    everything = len(page.evaluate(visible))
    page.fill("form[data-table=all-records] input", "kruskal youtube")
    some = page.evaluate(visible)
    assert 0 < len(some) < everything
    assert all("kruskal" in text and "com-youtube" in text for text in some)
    page.fill("form[data-table=all-records] input", "")
    page.select_option("form[data-table=all-records] select[name=status]", "timeout")
    assert all("timeout" in text for text in page.evaluate(visible))
    assert page.locator("form[data-table=all-records] output").inner_text().endswith(f"of {everything} rows")


def test_filtering_claims(open_page):
    page = open_page(1280)
    visible = "Array.from(document.querySelectorAll('#all-claims tbody tr:not([hidden])'), r => r.id)"
    assert len(page.evaluate(visible)) == 188
    page.select_option("form[data-table=all-claims] select[name=paper]", "durbhakula")
    assert len(page.evaluate(visible)) == 16
    page.select_option("form[data-table=all-claims] select[name=standing]", "contradicted")
    assert page.evaluate(visible) == ["claim-dur-13"]
    page.select_option("form[data-table=all-claims] select[name=paper]", "")
    assert len(page.evaluate(visible)) == 13


def test_tables_are_there_without_scripts(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((report / "report.html").as_uri())
    assert page.locator("#all-records tbody tr").count() > 50
    context.close()


def test_prints(open_page):
    page = open_page(1280)
    page.emulate_media(media="print")
    assert not page.locator("form.filters").first.is_visible()
    assert len(page.pdf()) > 10_000
