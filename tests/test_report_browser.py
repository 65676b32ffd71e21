"""The page in a real browser: no errors, no requests, working tables, nothing wider than a phone."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows(open_page, width, theme):
    page = open_page(width, theme)
    # Names with many options are long.
    page.evaluate(
        "for (const s of document.querySelectorAll('select'))"
        " s.append(new Option('contract-boruvka-cuda [memory=unified,scan=host,work=edge,minimum=segmented] 16'))"
    )
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


def test_records_are_filtered_by_words_and_by_choice(open_page):
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


def test_first_paint_takes_less_than_a_second(open_page):
    page = open_page(1280)
    painted = page.evaluate(
        """() => new Promise((resolve) => new PerformanceObserver((list) => {
            const found = list.getEntriesByName('first-contentful-paint');
            if (found.length) resolve(found[0].startTime);
        }).observe({ type: 'paint', buffered: true }))"""
    )
    assert painted < 1000


def test_the_answer_is_on_the_first_screen(open_page):
    page = open_page(1280)
    bottom = page.evaluate("document.querySelector('.card .winner').getBoundingClientRect().bottom")
    assert bottom < 844
    phone = open_page(390)
    assert phone.evaluate("document.querySelector('.lead').getBoundingClientRect().bottom") < 844


def test_page_prints_on_paper(open_page):
    page = open_page(1280)
    page.emulate_media(media="print")
    assert not page.locator("form.filters").first.is_visible()
    assert len(page.pdf()) > 10_000
