"""Page views and their visible time, sent by tidemark.js in a browser."""

import json

from tests.browser.tab import Tab
from tests.browser.tracked_website import EXIT, VIEW, TrackedWebsite
from tests.installation import eventually


def test_a_page_view_has_what_the_browser_knows(tracked: TrackedWebsite, page: Tab) -> None:
    url = tracked.add_page("/welcome", tracked.tag())

    page.go(f"{url}?q={'secret' * 500}&utm_source=news&gclid=abc#top")

    size = page.js("[screen.width + 'x' + screen.height, innerWidth + 'x' + innerHeight]")
    language = page.js("navigator.language")
    zone = page.js("Intl.DateTimeFormat().resolvedOptions().timeZone")
    rows = page.js("[document.cookie, localStorage.length, sessionStorage.length]")
    page.leave()
    row, _ = tracked.stored("/welcome", 2)
    expected = {
        "name": VIEW,
        "host": "localhost",
        "path": "/welcome",
        "title": "Welcome",
        "referrer": "Direct",
        "utm_source": "news",
        "click_id": "gclid",
        "language": language,
        "timezone": zone,
        "screen_resolution": size[0],
        "viewport_size": size[1],
        "browser_name": "Chromium",
        "os_name": "Windows",
    }
    assert {name: row[name] for name in expected} == expected
    assert page.complaints == []
    assert rows == ["", 0, 0]


def test_the_history_makes_views_and_a_title_that_comes_late_is_seen(
    tracked: TrackedWebsite, page: Tab
) -> None:
    page.go(tracked.add_page("/app", tracked.tag(), "<script>const views = []</script>"))
    page.js("""new Promise((done) => {
        history.pushState({}, "", "/app/redirects");
        history.pushState({}, "", "/app/two?tab=1");
        document.title = "Two";
        setTimeout(() => {
            history.replaceState({}, "", "/app/two?tab=2#there");
            history.back();
            history.back();
            setTimeout(done, 300);
        }, 300);
    })""")

    page.leave()
    rows = tracked.stored("/app", 6, "name", "path", "title")
    assert [row for row in rows if row[0] == VIEW] == [
        (VIEW, "/app", "App"),
        (VIEW, "/app/two", "Two"),
        (VIEW, "/app", "Two"),
    ]


def test_routes_in_the_fragment_are_pages_and_places_on_a_page_are_not(
    tracked: TrackedWebsite, page: Tab
) -> None:
    page.go(tracked.add_page("/shop", tracked.tag(), '<p id="there">Here'))
    for fragment in ("#there", "#/cart?step=1", "#/cart?step=2", "#!/done"):
        page.js(f"location.hash = {fragment!r}")
        page.js("new Promise((done) => setTimeout(done, 150))")
    page.leave()

    rows = tracked.stored("/shop", 6, "name", "path")
    assert [path for name, path in rows if name == VIEW] == ["/shop", "/shop#/cart", "/shop#/done"]


SPELLINGS = {
    "/spelled": ("/spelled/", "/spelled//?tab=1", "?/topic/12", "?/topic/13#there", "#/", "#!"),
    "/spelled#/caf\u00e9": (
        "#/caf%c3%a9",
        "#!/caf\u00e9/",
        "#!caf%C3%A9?a=b",
        "#/caf%C3%A9/#there",
    ),
}
"""Addresses by the page that they are."""


def test_a_page_is_viewed_once_by_whatever_address(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(tracked.add_page("/spelled", tracked.tag()))
    for addresses in SPELLINGS.values():
        page.js(f"""(async () => {{
            for (const address of {json.dumps(addresses)}) {{
                history.replaceState({{}}, "", address);
                await new Promise((done) => setTimeout(done, 110));
            }}
        }})()""")
    page.leave()

    one, other = SPELLINGS
    rows = tracked.stored("/spelled", 4, "name", "path")
    assert rows == [(VIEW, one), (EXIT, one), (VIEW, other), (EXIT, other)]


def test_navigations_that_an_application_handles_are_views(
    tracked: TrackedWebsite, page: Tab
) -> None:
    page.go(tracked.add_page("/handled", tracked.tag(), '<a id="link" href="/handled/3">Three</a>'))
    page.js("""(async () => {
        navigation.addEventListener("navigate", (event) => event.intercept());
        for (const open of [
            () => navigation.navigate("/handled/1"),
            () => navigation.navigate("/handled/2", { history: "replace" }),
            () => document.querySelector("#link").click(),
            () => navigation.back(),
        ]) {
            open();
            await new Promise((done) => setTimeout(done, 150));
        }
        document.title = "Late";
    })()""")
    page.leave()

    rows = tracked.stored("/handled", 10, "name", "path", "title")
    paths = ["/handled", "/handled/1", "/handled/2", "/handled/3", "/handled/2"]
    assert [row[:2] for row in rows] == [(name, path) for path in paths for name in (VIEW, EXIT)]
    assert [row[2] for row in rows if row[0] == VIEW] == [*["Handled"] * 4, "Late"]


def test_a_tag_that_is_pasted_twice_counts_once(tracked: TrackedWebsite, page: Tab) -> None:
    tags = (
        tracked.tag(),
        tracked.tag("", "/t/tidemark.js"),
        *[tracked.tag(name="tidemark-404")] * 2,
    )
    named = '<meta name="tidemark-status" content="404">'
    page.go(tracked.add_page("/twice", named, *tags))
    page.go(tracked.add_page("/twice/next", *tags[:2]))
    page.leave()

    rows = tracked.stored("/twice", 5, "name", "path")
    assert sorted(rows) == sorted(
        [
            ("404", "/twice"),
            *((name, path) for path in ("/twice", "/twice/next") for name in (VIEW, EXIT)),
        ]
    )


def test_a_page_in_a_frame_counts_only_if_its_tag_says_so(
    tracked: TrackedWebsite, page: Tab
) -> None:
    frames = [
        f'<iframe src="{tracked.add_page(f"/frame/{name}", tracked.tag(attribute))}"></iframe>'
        for name, attribute in (("part", ""), ("page", "data-frames"))
    ]
    page.go(tracked.add_page("/frame", tracked.tag(), *frames))
    page.leave()

    rows = tracked.stored("/frame", 4, "name", "path")
    assert sorted(rows) == sorted(
        (name, path) for path in ("/frame", "/frame/page") for name in (VIEW, EXIT)
    )


def test_a_page_that_is_only_prepared_is_not_viewed(tracked: TrackedWebsite, page: Tab) -> None:
    """Chromium prepares no page that is looked at from outside, so the page plays it."""
    page.before_each("Object.defineProperty(document, 'prerendering', { value: true })")
    named = '<meta name="tidemark-status" content="404">'
    own = tracked.tag(name="tidemark-404")
    page.go(tracked.add_page("/prepared/1", named, tracked.tag(), own))
    page.go(tracked.add_page("/prepared/2", tracked.tag()))
    page.js("document.dispatchEvent(new Event('prerenderingchange'))")
    page.leave()

    assert tracked.stored("/prepared", 2, "name", "path") == [
        (VIEW, "/prepared/2"),
        (EXIT, "/prepared/2"),
    ]


def test_a_page_that_is_left_tells_how_long_and_how_far_it_was_seen(
    tracked: TrackedWebsite, page: Tab
) -> None:
    page.go(tracked.add_page("/long", tracked.tag(), '<p style="height: 1000vh">Tall'))
    page.js("new Promise((done) => setTimeout(done, 600))")
    page.js("scrollTo(0, innerHeight * 4)")

    page.leave()

    view, left = tracked.stored("/long", 2, "name", "time_on_page", "scroll_depth")
    assert view == (VIEW, None, None)
    assert left[0] == EXIT
    assert float(left[1]) >= 0.6
    assert 48 <= float(left[2]) <= 50


def test_a_page_that_is_hidden_counts_only_what_was_visible(
    tracked: TrackedWebsite, page: Tab
) -> None:
    page.go(tracked.add_page("/tabs", tracked.tag()))

    front = page.beside()
    eventually(lambda: page.js("document.hidden"))
    assert tracked.stored("/tabs", 2, "name") == [VIEW, EXIT]
    front.close()
    eventually(lambda: not page.js("document.hidden"))
    page.leave()

    assert tracked.stored("/tabs", 3, "name") == [VIEW, EXIT, EXIT]


def test_a_page_from_the_back_forward_cache_is_viewed_again(
    tracked: TrackedWebsite, page: Tab
) -> None:
    page.go(tracked.add_page("/cached", tracked.tag()))
    page.js("window.kept = true")

    page.go(tracked.other_website())
    page.back()
    assert page.js("window.kept") is True
    page.leave()

    assert tracked.stored("/cached", 4, "name") == [VIEW, EXIT, VIEW, EXIT]
