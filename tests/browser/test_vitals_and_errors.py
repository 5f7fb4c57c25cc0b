"""tidemark-vitals.js and tidemark-errors.js in a browser."""

import pytest

from tests.browser.tab import Tab
from tests.browser.tracked_website import TrackedWebsite

SLOW = '<h1>Big</h1><button onclick="for (const t = Date.now(); Date.now() - t < 60;);">Press'

WAYS = ("asked for", "on their own")


def tags(tracked: TrackedWebsite, way: str, extra: str) -> str:
    """Loaded by the script, or by a tag of its own and without it."""
    own = tracked.tag(name=f"tidemark-{extra}")
    return tracked.tag(f"data-{extra}") if way == "asked for" else own


@pytest.mark.parametrize("way", WAYS)
def test_web_vitals_are_measured(tracked: TrackedWebsite, page: Tab, way: str) -> None:
    place = f"/vitals/{WAYS.index(way)}"
    page.go(tracked.add_page(place, tags(tracked, way, "vitals"), SLOW))
    page.js("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
    page.click("button")
    # web-vitals looks at interactions when the page is idle, after a second at the latest.
    page.js("new Promise((done) => setTimeout(done, 1200))")
    page.leave()

    rows = tracked.stored(place, 5, "metric_name", "metric_value", table="vitals")
    assert sorted(name for name, _ in rows) == ["CLS", "FCP", "INP", "LCP", "TTFB"]
    values = {name: float(value) for name, value in rows}
    assert values["CLS"] == 0
    assert values["INP"] >= 56
    assert 0 < values["TTFB"] <= values["FCP"] <= values["LCP"]


@pytest.mark.parametrize("way", WAYS)
def test_errors_that_nobody_caught_are_kept_once(
    tracked: TrackedWebsite, page: Tab, way: str
) -> None:
    place = f"/errors/{WAYS.index(way)}"
    url = tracked.add_page(
        place,
        tags(tracked, way, "errors"),
        "<script>const twice = () => { throw new TypeError('not today') };</script>",
        "<script>const fail = () => {",
        "  setTimeout(twice), setTimeout(twice);",
        "  setTimeout(() => Promise.reject(new RangeError('too far')));",
        "  setTimeout(() => Promise.reject('just words'));",
        "  setTimeout(() => Promise.reject({ name: 7, stack: [8] }));",
        "  setTimeout(() => Promise.reject());",
        "  setTimeout(() => Promise.reject({ code: 1, token: 'secret' }));",
        "  setTimeout(() => { throw Object.assign(Object.create(null), { code: 2 }); });",
        "}</script>",
    )
    page.go(url)
    if way == "asked for":
        page.js(f"import('{tracked.collect_url}/tidemark-errors.js').then(Boolean)")
    page.js("fail(), new Promise((done) => setTimeout(done, 200))")
    page.leave()

    rows = tracked.stored(
        place, 7, "message", "error_type", "filename", "lineno", "stack", table="errors"
    )
    assert [(row[0], row[1]) for row in rows] == [
        ("Uncaught TypeError: not today", "TypeError"),
        ("Uncaught {code: 2}", None),
        ("too far", "RangeError"),
        ("just words", None),
        ("{name: 7, stack}", "7"),
        ("undefined", None),
        ("{code: 1, token}", None),
    ]
    assert rows[0][2:4] == (url, 1)
    assert rows[0][4].startswith(f"TypeError: not today\n    at twice ({url}:1:")


@pytest.mark.parametrize("way", WAYS)
def test_errors_have_the_release_of_the_tag(tracked: TrackedWebsite, page: Tab, way: str) -> None:
    place = f"/release/{WAYS.index(way)}"
    release = 'data-release="2.4.1"'
    own = tracked.tag(release, name="tidemark-errors")
    page.go(
        tracked.add_page(place, tracked.tag(f"data-errors {release}") if way == WAYS[0] else own)
    )
    if way == WAYS[0]:
        page.js(f"import('{tracked.collect_url}/tidemark-errors.js').then(Boolean)")
    page.js("setTimeout(() => { throw new Error('old') }), new Promise((done) => setTimeout(done))")
    page.leave()

    rows = tracked.stored(place, 1, "message", "release", table="errors")
    assert rows == [("Uncaught Error: old", "2.4.1")]


def test_the_time_zone_tells_the_country(tracked: TrackedWebsite, page: Tab) -> None:
    page.tell("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")
    names = ("vitals", "errors", "engagement")
    tags = "".join(tracked.tag(name=f"tidemark-{name}") for name in names)
    page.go(tracked.add_page("/zone", tags, SLOW))
    page.js(
        "setTimeout(() => { throw new Error('here') }), new Promise((done) => setTimeout(done))"
    )
    # Not left, because Chromium ends the override with the page.
    page.js("history.pushState(0, '', '/zone/next')")

    assert set(tracked.stored("/zone", 1, "country", table="vitals")) == {"JP"}
    for table in ("errors", "engagement"):
        assert tracked.stored("/zone", 1, "country", table=table) == ["JP"]


def test_a_page_reports_at_most_ten_errors(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(tracked.add_page("/many", tracked.tag(name="tidemark-errors")))
    page.js("for (let n = 0; n < 12; n++) setTimeout(() => { throw new Error(n) }), 0")
    page.js("new Promise((done) => setTimeout(done, 100))")
    page.leave()

    rows = tracked.stored("/many", 10, "message", table="errors")
    assert rows == [f"Uncaught Error: {n}" for n in range(10)]


def test_what_is_not_the_pages_own_is_left_out(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(tracked.add_page("/foreign", tracked.tag(name="tidemark-errors")))
    page.js("""
        const thrown = (filename, message, stack) => dispatchEvent(new ErrorEvent("error", {
            message, filename, lineno: 1, colno: 2, error: stack && { stack },
        }));
        for (const scheme of [
            "chrome-extension", "moz-extension", "safari-web-extension", "webkit-masked-url",
        ]) {
            thrown(`${scheme}://abc/content.js`, "Uncaught Error: theirs");
            thrown("https://shop.example/", "Uncaught Error: theirs", `x@${scheme}://hidden/:1:2`);
        }
        thrown("", "Script error.");
        thrown("https://shop.example/app.js", "Uncaught Error: file-extension: ours", "ours");
    """)
    page.leave()

    assert tracked.stored("/foreign", 1, "message", table="errors") == [
        "Uncaught Error: file-extension: ours"
    ]
