"""tidemark-performance.js, -engagement.js, -downloads.js and -404.js in a browser."""

import json

import pytest

from tests.browser.tab import Tab
from tests.browser.tracked_website import EXIT, VIEW, TrackedWebsite
from tests.browser.web_site import Html

WAYS = ("asked for", "on their own")


def tags(tracked: TrackedWebsite, way: str, extra: str) -> str:
    """Loaded by the script, or by a tag of its own behind it."""
    own = tracked.tag() + tracked.tag(name=f"tidemark-{extra}")
    return tracked.tag(f"data-{extra}") if way == "asked for" else own


def executed(tracked: TrackedWebsite, page: Tab, *extras: str) -> None:
    """Waits until the scripts that tidemark.js imports have been executed."""
    for extra in extras:
        page.js(f"import('{tracked.collect_url}/tidemark-{extra}.js').then(Boolean)")


@pytest.mark.parametrize("way", WAYS)
def test_load_times_come_once_with_the_exit(tracked: TrackedWebsite, page: Tab, way: str) -> None:
    place = f"/load/{WAYS.index(way)}"
    page.go(tracked.add_page(place, tags(tracked, way, "performance"), "<p>Text"))
    if way == "asked for":
        executed(tracked, page, "performance")
    page.js(f"history.pushState(0, '', '{place}/next')")
    page.js("new Promise((done) => setTimeout(done, 200))")
    page.leave()

    columns = ("load_time", "dom_ready_time", "dom_interactive", "ttfb", "request_time")
    kept = tracked.stored(place, 4, "name", "path", *columns)
    assert [row[:2] for row in kept] == [
        (VIEW, place),
        (EXIT, place),
        (VIEW, f"{place}/next"),
        (EXIT, f"{place}/next"),
    ]
    load, ready, interactive, ttfb, request = kept[1][2:]
    assert 0 <= ttfb <= interactive <= ready <= load
    assert load > 0
    assert request >= 0
    assert all(row[2:] == (None,) * 5 for row in (kept[0], kept[2], kept[3]))
    (slow,) = tracked.query("slow_pages", place)
    assert (slow["name"], slow["pageviews"], slow["p50_load_time"]) == (place, 1, load)


@pytest.mark.parametrize("way", WAYS)
def test_what_was_done_on_a_page_is_reported(tracked: TrackedWebsite, page: Tab, way: str) -> None:
    place = f"/done/{WAYS.index(way)}"
    page.go(
        tracked.add_page(
            place,
            tags(tracked, way, "engagement"),
            '<button id="dead">Nothing</button> ',
            """<button id="live" onclick="this.title += '!'">Something</button> """,
            '<a id="away" href="/done">Away</a>',
            '<form><input id="name" name="name"><input id="mail" name="mail"></form>',
            "<p style='height: 3000px'>Long",
        )
    )
    if way == "asked for":
        executed(tracked, page, "engagement")
    page.click("#live")
    page.click("#dead")
    page.js("new Promise((done) => setTimeout(done, 2700))")
    page.click("#name")
    page.tell("Input.dispatchKeyEvent", type="keyDown", key="a", text="a")
    page.tell("Input.dispatchKeyEvent", type="keyUp", key="a")
    page.js("setTimeout(() => { throw new Error('here') })")
    page.js("new Promise((done) => setTimeout(done))")
    page.leave()

    (row,) = tracked.stored(place, 1, table="engagement")
    expected = {
        "path": place,
        "exit_type": "unload",
        "click_count": 3,
        "key_count": 1,
        "scroll_count": 0,
        "interaction_count": 4,
        "rage_click_count": 0,
        "dead_click_count": 1,
        "dead_click_target": "button#dead",
        "form_field_count": 1,
        "form_submit_count": 0,
        "form_abandoned": True,
        "last_form_field": "name",
        "error_count": 1,
    }
    assert {name: row[name] for name in expected} == expected
    assert 0 < float(row["active_time"]) <= float(row["time_on_page"])
    assert float(row["time_to_first_interaction"]) > 0
    assert 0 < float(row["max_scroll_depth"]) < 100
    (form,) = tracked.query("form_abandonment_by_page", place)
    assert (form["form_starts"], form["form_submits"], form["top_abandoned_field"]) == (
        1,
        0,
        "name",
    )
    exits = [row for row in tracked.stored(place, 2) if row["name"] == EXIT]
    assert [row["interaction_count"] for row in exits] == [4]
    (summary,) = tracked.query("interaction_summary", place)
    assert (summary["interactive_sessions"], summary["avg_interactions"]) == (1, 4)


def test_three_quick_clicks_on_one_spot_are_a_rage_click(
    tracked: TrackedWebsite, page: Tab
) -> None:
    page.go(tracked.add_page("/rage", tracked.tag(name="tidemark-engagement"), "<p id=p>Press"))
    for _ in range(5):
        page.click("#p")
    page.js("history.pushState(0, '', '/rage/next')")
    page.click("#p")
    page.leave()

    kept = tracked.stored(
        "/rage", 2, "path", "exit_type", "click_count", "rage_click_count", "rage_click_target",
        table="engagement",
    )  # fmt: skip
    assert kept == [("/rage", "spa", 5, 1, "p#p"), ("/rage/next", "unload", 1, 0, None)]


@pytest.mark.parametrize("way", WAYS)
def test_downloads_are_kept_without_their_query(
    tracked: TrackedWebsite, page: Tab, way: str
) -> None:
    place = f"/files/{WAYS.index(way)}"
    page.go(
        tracked.add_page(
            place,
            tags(tracked, way, "downloads"),
            '<a id="report" href="/a/Report.PDF?key=secret">Report</a> ',
            '<a id="plain" href="/a/page.html">Page</a> ',
            '<a id="marked" href="/a/export" download>Export</a>',
        )
    )
    if way == "asked for":
        executed(tracked, page, "downloads")
    page.js("addEventListener('click', (e) => e.preventDefault())")
    for link in ("#report", "#plain", "#marked"):
        page.click(link)
    page.leave()

    kept = tracked.stored(place, 4, "name", "properties")
    found = [json.loads(text) for name, text in kept if name == "file_download"]
    files = tracked.site.url("/a", "localhost")
    assert found == [
        {"url": f"{files}/Report.PDF", "file": "Report.PDF", "extension": "pdf"},
        {"url": f"{files}/export", "file": "export"},
    ]


def test_a_website_may_say_what_its_downloads_are(tracked: TrackedWebsite, page: Tab) -> None:
    links = '<a id="a" href="/a/x.pdf">PDF</a> <a id="b" href="/a/x.blend">Model</a>'
    page.go(tracked.add_page("/files/own", tracked.tag('data-downloads="blend, step"'), links))
    executed(tracked, page, "downloads")
    page.js("addEventListener('click', (e) => e.preventDefault())")
    page.click("#a")
    page.click("#b")
    page.leave()

    kept = tracked.stored("/files/own", 3, "name", "properties")
    found = [json.loads(text)["file"] for name, text in kept if name == "file_download"]
    assert found == ["x.blend"]


def test_a_missing_page_is_an_event(tracked: TrackedWebsite, page: Tab) -> None:
    named = '<meta name="tidemark-status" content="404">'
    by_status = tracked.add_page("/missing/status", tracked.tag("data-404"))
    tracked.site.pages["/missing/status"] = Html(
        tracked.site.pages["/missing/status"].body, {}, status=404
    )
    page.go(by_status + "?secret")
    executed(tracked, page, "404")
    page.go(tracked.add_page("/missing/meta", named, tracked.tag("data-404")))
    executed(tracked, page, "404")
    page.go(tracked.add_page("/missing/not", tracked.tag("data-404")))
    executed(tracked, page, "404")
    page.leave()

    kept = tracked.stored("/missing", 8, "name", "path", "properties")
    found = [(path, json.loads(text)) for name, path, text in kept if name == "404"]
    assert found == [(path, {"path": path}) for path in ("/missing/status", "/missing/meta")]


@pytest.mark.parametrize("way", ["control", "attribute"])
def test_extra_scripts_respect_the_opt_out(tracked: TrackedWebsite, page: Tab, way: str) -> None:
    if way == "control":
        page.before_each("Object.defineProperty(navigator, 'globalPrivacyControl', {value: true})")
    extras = "data-performance data-engagement data-downloads data-404"
    said = f"{extras} data-optout" if way == "attribute" else extras
    parts = ('<meta name="tidemark-status" content="404">', '<a id="a" href="#" download>File</a>')
    url = tracked.add_page(f"/silent/{way}", tracked.tag(said, "/t/tidemark.js"), *parts)
    tracked.site.posted.clear()
    page.go(url)
    for extra in ("performance", "engagement", "downloads", "404"):
        page.js(f"import('/t/tidemark-{extra}.js').then(Boolean)")
    page.click("#a")
    page.go(url)

    loaded = [url for _, url in page.requests if "tidemark-" in url]
    assert len(set(loaded)) == 4
    assert tracked.site.posted == []
