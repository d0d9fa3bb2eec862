"""The status page in Chromium: search and paging without scripts, what the first screen shows, the keyboard, valid HTML."""

import json
import re
import subprocess
import urllib.parse

import pytest
from harness import wait_for

NAMES = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "x" * 300, "owner/\u202e\u05e2\u05d1\u05e8\u05d9\u05ea",
    "a/'&amp;`{}\0\b\ufffe", "owner/plain",
]  # fmt: skip
HTML_RULES = {
    "extends": ["html-validate:recommended", "html-validate:a11y"],
    "rules": dict.fromkeys(
        ["long-title", "no-trailing-whitespace", "doctype-style", "void-style", "attr-quotes", "no-implicit-close"], "off"
    ),
}


@pytest.fixture
def demo(exporter):
    """The demo, which has overdue and stalled translations above its table."""
    return exporter("demo").wait_for_poll()


@pytest.fixture
def reading(api, exporter):
    """Starts an exporter that has read these repositories, and could not read those of `lose`."""

    def read(*repositories, lose=()):
        api.put(*repositories)
        api.command("lose", list(lose))
        started = exporter(api=api, poll__interval="1h")
        # Unlike the count of polls, this comes with the data of the poll.
        wait_for("a published poll", lambda: started.value("translation_exporter_last_poll_timestamp_seconds"))
        return started

    return read


@pytest.fixture
def open_page(browser):
    """Opens a page at 1400 by 1100 pixels."""
    pages = []

    def go(url, **options):
        page = browser.new_page(**({"viewport": {"width": 1400, "height": 1100}} | options))
        pages.append(page)
        # A machine that compiles meanwhile is slow.
        page.set_default_timeout(120_000)
        page.goto(url)
        return page

    yield go
    for page in pages:
        page.close()


def test_search_and_paging_work_without_scripts(reading, open_page):
    repositories = ((id, f"{'other' if id % 3 else 'acme'}/{id:03}", {"de": id / 5, "fr": 100}) for id in range(1, 451))
    page = open_page(reading(*repositories).url, java_script_enabled=False)

    def names():
        return page.locator("#map tbody .name").all_text_contents()

    def click(link):
        page.get_by_role("link", name=link).first.click()

    assert page.locator("h2#answer").inner_text().startswith("Not ready to ship: ")
    assert page.locator("[role=status]").inner_text() == "All 450 repositories, 200 on this page, most urgent first"
    assert names()[:2] == ["other/001", "other/002"], "the least complete first"
    assert page.locator("#map tbody tr").count() == 200
    click("Next")
    click("Next")
    assert page.locator("[aria-current=page]").inner_text() == "Page 3 of 3"
    assert len(names()) == 50
    page.locator("#q").fill("ACME/00")
    page.locator("#q").press("Enter")
    page.get_by_role("link", name="Show all").wait_for()
    assert names() == ["acme/003", "acme/006", "acme/009"]
    click("Show all")
    assert names()[0] == "other/001"


def test_the_stylesheet_applies_in_light_and_dark_under_the_own_policy(demo, open_page):
    page = open_page(demo.url)

    def background():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = background()
    assert light not in ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)")
    page.emulate_media(color_scheme="dark")
    assert background() != light


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844)])
def test_the_answers_to_a_search_and_for_a_language_are_on_the_first_screen(demo, open_page, width, height):
    page = open_page(demo.url, viewport={"width": width, "height": height})

    def assert_seen(selector):
        box = page.locator(selector).first.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, (selector, box)

    assert_seen(".answer")
    page.locator("#q").fill("opal")
    page.locator("#q").press("Enter")
    page.get_by_role("link", name="Show all").wait_for()
    assert_seen("[role=status]")
    assert_seen("#map .name:visible")
    page.goto(f"{demo.url}/?language=de")
    assert page.locator("h1").inner_text() == "German (de)"
    for selector in ("h1", "header a", ".answer"):
        assert_seen(selector)
    assert page.evaluate("document.documentElement.scrollWidth") == width, "nothing lies beside the screen"


def test_a_date_names_the_language_that_is_furthest_behind(demo, open_page):
    page = open_page(demo.url)
    rows = page.locator(".dates tbody tr").filter(has_text="furthest behind: ").all()
    named = {row.locator("th a").inner_text(): row.locator(".way a").inner_text() for row in rows}
    assert len(named) > 1
    for date, language in named.items():
        page.locator(".dates").get_by_role("link", name=date).click()
        assert page.locator(".languages a").first.inner_text() == language
        page.goto(demo.url)


def test_the_answer_is_mailed_with_its_dates_and_without_what_a_name_would_add(demo, open_page):
    def mail(page):
        link = urllib.parse.urlsplit(page.get_by_role("link", name="mail the answer").get_attribute("href"))
        assert link.scheme == "mailto"
        return {name: value for name, (value,) in urllib.parse.parse_qs(link.query, strict_parsing=True).items()}

    page = open_page(f"{demo.url}/?language=de")
    answer, *dates, of = mail(page)["body"].split("\r\n")
    assert answer == page.locator("#answer").inner_text() and mail(page)["subject"] == f"German (de): {answer}"
    assert len(dates) == page.locator(".dates tbody tr").count()
    assert of.startswith("Translations of German (de) of the demo, as of 20")
    hostile = urllib.parse.quote("de\r\nBcc: x@example.com\u202e&cc=y")
    page = open_page(f"{demo.url}/?language={hostile}")
    assert "Bcc" in mail(page)["subject"] and not re.search("[\r\n\u202e]", mail(page)["subject"])


def test_the_keyboard_goes_through_the_page_from_top_to_bottom(demo, open_page):
    page = open_page(demo.url)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the repositories"
    page.goto(demo.url)
    positions = []
    for _ in range(40):
        page.keyboard.press("Tab")
        positions.append(page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    assert positions == sorted(positions)


OUTSIDE = """[...document.querySelectorAll("td, tbody th")].filter((cell) => {
    const box = cell.getBoundingClientRect();
    return box.left < 0 || box.right > document.documentElement.clientWidth;
}).length"""


def languages(count):
    return {f"{chr(97 + at // 10)}{at % 10}": at * 100 // count for at in range(count)}


def test_the_map_shows_30_languages_on_a_laptop_and_a_phone_has_a_list(reading, open_page):
    url = reading(*((id, f"some-organization/project-{id:03}", languages(30)) for id in range(1, 41))).url
    page = open_page(url, viewport={"width": 1280, "height": 800})
    assert page.evaluate(OUTSIDE) == 0, "nothing is cut off"
    height = page.locator(".sheet").bounding_box()["height"]
    assert height <= 1500, "a row has one line of 30 px: see repository() in macros.html, and .map and .row in style.css"
    page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    assert page.evaluate("document.querySelector('.map thead th').getBoundingClientRect().top") == 0, "the heading stays in sight"
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.locator(".map").is_hidden() and page.locator(".short li").count() == 40, "a phone shows what is not ready as a list"
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_60_languages_scroll_in_a_sheet_whose_first_column_and_heading_stay(reading, open_page):
    page = open_page(reading(*((id, f"acme/{id:03}", languages(60)) for id in range(1, 41))).url, viewport={"width": 1280, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
    head = page.locator(".map thead th").first
    before = head.bounding_box()
    page.locator(".sheet").evaluate("sheet => { sheet.scrollLeft = 300; sheet.scrollTop = 200; }")
    assert page.locator(".sheet").evaluate("sheet => sheet.scrollLeft") == 300
    assert head.bounding_box() == before


def test_the_page_is_valid_html_with_hostile_names(reading, exporter, npm, tmp_path):
    hostile = reading(*((id, name, {code: 12.5 * at for at, code in enumerate(NAMES)}) for id, name in enumerate(NAMES, 1)))
    pages = {
        "hostile.html": hostile.get("/"),
        "search.html": hostile.get("/?q=%22%3E%3Cscript%3E&only=%3C"),
        "demo.html": exporter("demo").wait_for_poll().get("/?due=none"),
    }
    for file, html in pages.items():
        assert "<script" not in html.lower() and "<img" not in html.lower(), "no name may become a script or an image"
        assert not {"\u202e", "\b", "\0"} & set(html), "no name may change the direction or be invisible"
        (tmp_path / file).write_text(html)
    (tmp_path / ".htmlvalidate.json").write_text(json.dumps(HTML_RULES))
    command = [npm / ".bin/html-validate", "--config", ".htmlvalidate.json", *pages]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


# A zoom of 200 % halves the pixels of CSS in each direction. A4 has 718 of them between margins of a centimetre.
@pytest.mark.parametrize("width, height, media, scheme", [
    (1280, 900, "screen", "light"), (1280, 900, "screen", "dark"), (640, 450, "screen", "light"), (390, 900, "screen", "dark"),
    (718, 1000, "print", "light"),
])  # fmt: skip
def test_axe_core_finds_no_barrier_and_nothing_is_wider_than_the_page(reading, exporter, open_page, npm, width, height, media, scheme):
    # 230 repositories by 25 languages, some of which fail, and a language that reports no completion. The last page has 30 of them, of all
    # kinds: the time that axe takes grows with the rows.
    many = reading(*(
        (id, f"owner/repository-{id}", {
            f"l{10 + at}": None if at == 3 else (id * 7 + at * 13) % 101 for at in range(25) if (id + at) % 6
        })
        for id in range(1, 231)
    ), lose=range(7, 231, 20)).url  # fmt: skip
    demo = exporter("demo").wait_for_poll().url
    axe = (npm / "axe-core/axe.min.js").read_text()
    for url in (f"{many}/?page=2", f"{many}/?q=nothing", f"{demo}/", f"{demo}/?language=de"):
        page = open_page(url, viewport={"width": width, "height": height}, color_scheme=scheme)
        page.emulate_media(media=media)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, url
        page.evaluate(axe)
        result = page.evaluate("axe.run()")
        assert result["passes"], "axe found no rule to check"
        found = [(one["id"], one["nodes"][0]["html"]) for one in result["violations"]]
        assert not found, (url, found)
