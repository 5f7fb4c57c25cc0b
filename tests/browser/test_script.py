"""tidemark.js in a real browser, cross-origin: what is stored is what was done."""

import json

import pytest

from ingest.scripts import read_manifest
from tests.browser.page import Page
from tests.browser.tracked import Tracked
from tests.calling import call
from tests.running import eventually

VIEW, EXIT, OUTBOUND = "screen_view", "page_exit", "outbound_click"


def other(tracked: Tracked) -> str:
    """A page of somebody else."""
    tracked.shows("/other", "<p>Somebody else")
    return tracked.site.url("/other")


def test_a_page_view_has_what_the_browser_knows(tracked: Tracked, page: Page) -> None:
    url = tracked.shows("/welcome", tracked.tag())

    page.go(f"{url}?utm_source=news&gclid=abc&q=secret#top")

    size = page.js("[screen.width + 'x' + screen.height, innerWidth + 'x' + innerHeight]")
    language = page.js("navigator.language")
    zone = page.js("Intl.DateTimeFormat().resolvedOptions().timeZone")
    kept = page.js("[document.cookie, localStorage.length, sessionStorage.length]")
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
    assert kept == ["", 0, 0]


def test_a_page_without_a_secure_connection_is_tracked_too(tracked: Tracked, page: Page) -> None:
    page.go(tracked.shows("/plain", tracked.tag("data-persist"), host="shop.example"))
    assert page.js("isSecureContext") is False
    page.leave()

    rows = tracked.stored("/plain", 2, "name", "host", "anonymous_id")
    assert [row[:2] for row in rows] == [(VIEW, "shop.example"), (EXIT, "shop.example")]
    assert rows[0][2] == rows[1][2]
    assert rows[0][2]


def test_the_script_travels_packed(tracked: Tracked) -> None:
    url, asked = f"{tracked.collect_url}/tidemark.js", {"accept-encoding": "gzip"}
    whole, head = (call(method, url, None, asked) for method in ("GET", "HEAD"))

    assert (whole.headers["content-encoding"], head.body) == ("gzip", b"")
    assert len(whole.body) == int(head.headers["content-length"]) <= 1638


def test_nothing_is_asked_before_it_is_sent(tracked: Tracked, page: Page) -> None:
    page.go(tracked.shows("/simple", tracked.tag()))
    tracked.stored("/simple", 1)

    to_collector = [asked for asked in page.requests if asked[1].startswith(tracked.collect_url)]
    assert [method for method, _ in to_collector] == ["GET", "POST"]


def test_the_history_makes_views_and_a_title_that_comes_late_is_seen(
    tracked: Tracked, page: Page
) -> None:
    page.go(tracked.shows("/app", tracked.tag(), "<script>const views = []</script>"))
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
    kept = tracked.stored("/app", 6, "name", "path", "title")
    assert [row for row in kept if row[0] == VIEW] == [
        (VIEW, "/app", "App"),
        (VIEW, "/app/two", "Two"),
        (VIEW, "/app", "Two"),
    ]


def test_routes_in_the_fragment_are_pages_and_places_on_a_page_are_not(
    tracked: Tracked, page: Page
) -> None:
    page.go(tracked.shows("/shop", tracked.tag(), '<p id="there">Here'))
    for fragment in ("#there", "#/cart?step=1", "#/cart?step=2", "#!/done"):
        page.js(f"location.hash = {fragment!r}")
        page.js("new Promise((done) => setTimeout(done, 150))")
    page.leave()

    kept = tracked.stored("/shop", 6, "name", "path")
    assert [path for name, path in kept if name == VIEW] == ["/shop", "/shop#/cart", "/shop#/done"]


def test_a_page_that_is_only_prepared_is_not_viewed(tracked: Tracked, page: Page) -> None:
    """Chromium prepares no page that is looked at from outside, so the page plays it."""
    page.before_each("Object.defineProperty(document, 'prerendering', { value: true })")
    page.go(tracked.shows("/prepared/1", tracked.tag()))
    page.go(tracked.shows("/prepared/2", tracked.tag()))
    page.js("document.dispatchEvent(new Event('prerenderingchange'))")
    page.leave()

    assert tracked.stored("/prepared", 2, "name", "path") == [
        (VIEW, "/prepared/2"),
        (EXIT, "/prepared/2"),
    ]


def test_a_page_that_is_left_tells_how_long_and_how_far_it_was_seen(
    tracked: Tracked, page: Page
) -> None:
    page.go(tracked.shows("/long", tracked.tag(), '<p style="height: 1000vh">Tall'))
    page.js("new Promise((done) => setTimeout(done, 600))")
    page.js("scrollTo(0, innerHeight * 4)")

    page.leave()

    view, left = tracked.stored("/long", 2, "name", "time_on_page", "scroll_depth")
    assert view == (VIEW, None, None)
    assert left[0] == EXIT
    assert float(left[1]) >= 0.6
    assert 48 <= float(left[2]) <= 50


def test_a_page_that_is_hidden_counts_only_what_was_visible(tracked: Tracked, page: Page) -> None:
    page.go(tracked.shows("/tabs", tracked.tag()))

    front = page.beside()
    eventually(lambda: page.js("document.hidden"))
    assert tracked.stored("/tabs", 2, "name") == [VIEW, EXIT]
    front.close()
    eventually(lambda: not page.js("document.hidden"))
    page.leave()

    assert tracked.stored("/tabs", 3, "name") == [VIEW, EXIT, EXIT]


def test_a_page_from_the_back_forward_cache_is_viewed_again(tracked: Tracked, page: Page) -> None:
    page.go(tracked.shows("/cached", tracked.tag()))
    page.js("window.kept = true")

    page.go(other(tracked))
    page.back()
    assert page.js("window.kept") is True
    page.leave()

    assert tracked.stored("/cached", 4, "name") == [VIEW, EXIT, VIEW, EXIT]


def test_clicks_that_lead_to_another_host_are_kept_with_their_text(
    tracked: Tracked, page: Page
) -> None:
    away = other(tracked)
    page.go(
        tracked.shows(
            "/links",
            tracked.tag(),
            '<a id="inside" href="#there">Inside</a> ',
            '<a id="mail" href="mailto:a@b.example">Mail</a> ',
            f'<p><a id="middle" href="{away}?m"><b>In</b> the <i>middle</i></a> ',
            f'<p><a id="icon" href="{away}?i" aria-label="Icon"><svg width=9 height=9></svg></a>',
            f'<p><a id="away" href="{away}?a">Away</a>',
        )
    )
    page.js("document.querySelector('#mail').addEventListener('click', (e) => e.preventDefault())")

    page.click("#inside")
    page.click("#mail")
    page.click("#middle", button="middle")
    page.js("document.querySelector('#icon').click()")
    eventually(lambda: page.address.endswith("/other?i"))
    page.back()
    page.click("#away")

    kept = tracked.stored("/links", 7, "name", "href", "link_text", "outbound_domain")
    assert [row[1:] for row in kept if row[0] == OUTBOUND] == [
        (f"{away}?m", "In the middle", "127.0.0.1"),
        (f"{away}?i", "Icon", "127.0.0.1"),
        (f"{away}?a", "Away", "127.0.0.1"),
    ]


def test_events_are_kept_with_their_properties_also_from_before_the_script(
    tracked: Tracked, page: Page
) -> None:
    page.go(
        tracked.shows(
            "/events",
            "<script>window.tidemark = window.tidemark ||"
            " function () { (tidemark.q = tidemark.q || []).push(arguments) };"
            ' tidemark("event", "early", { "n": 1 })</script>',
            tracked.tag(),
        )
    )
    page.js('tidemark("event", "late", { plan: "pro", seats: 2 })')
    page.js('tidemark("event", "bare"), tidemark("no such thing")')

    page.leave()
    kept = tracked.stored("/events", 5, "name", "properties")
    assert [(name, json.loads(text or "null")) for name, text in kept] == [
        (VIEW, None),
        ("early", {"n": 1}),
        ("late", {"plan": "pro", "seats": 2}),
        ("bare", None),
        (EXIT, None),
    ]


def test_elements_say_what_event_they_are(tracked: Tracked, page: Page) -> None:
    page.go(
        tracked.shows(
            "/marks",
            tracked.tag(),
            '<button data-tidemark="buy" data-tidemark-plan="pro" data-tidemark-seat_count="2">'
            "<b>Buy</b></button>",
            '<form data-tidemark="sign up" data-tidemark-list="news" action="/marks/done">'
            '<input id="field"><input type="submit" id="submit"></form>',
        )
    )
    page.click("button b")
    page.click("#field")
    page.click("#submit")

    kept = tracked.stored("/marks", 4, "name", "path", "properties")
    assert [(*row[:2], json.loads(row[2])) for row in kept if row[0] not in (VIEW, EXIT)] == [
        ("buy", "/marks", {"plan": "pro", "seat_count": "2"}),
        ("sign up", "/marks", {"list": "news"}),
    ]


@pytest.mark.parametrize("way", ["control", "attribute", "command"])
def test_who_does_not_want_to_be_seen_is_not(tracked: Tracked, page: Page, way: str) -> None:
    extras, own = "data-persist data-vitals data-errors", "/t/tidemark.js"
    if way == "control":
        page.before_each("Object.defineProperty(navigator, 'globalPrivacyControl', {value: true})")
    said = f"{extras} data-optout" if way == "attribute" else extras
    url = tracked.shows(f"/unseen/{way}", tracked.tag(said, own))
    if way == "command":
        page.go(url)
        page.js('tidemark("optout")')

    tracked.site.posted.clear()
    page.go(url)
    page.js('tidemark("event", "seen"), setTimeout(() => { throw new Error("seen") })')
    page.go(url)

    assert tracked.site.posted == []
    kept = {"tidemark": "optout"} if way == "command" else {}
    assert page.js("({...localStorage})") == kept


def test_who_opts_in_again_is_seen_again(tracked: Tracked, page: Page) -> None:
    page.go(tracked.shows("/again", tracked.tag()))
    page.js('tidemark("optout"), tidemark("event", "unseen"), tidemark("optin")')
    page.js('tidemark("event", "seen")')
    page.leave()

    assert tracked.stored("/again", 3, "name") == [VIEW, "seen", EXIT]


def test_ids_are_kept_only_when_asked_for(tracked: Tracked, page: Page) -> None:
    one, two = (tracked.shows(f"/kept/{n}", tracked.tag("data-persist")) for n in (1, 2))
    page.go(one)
    page.go(two)
    page.js("localStorage.tidemark = localStorage.tidemark.replace(/^\\d+/, (ms) => ms - 1800001)")
    page.js('tidemark("event", "after the break")')
    cookies = page.js("document.cookie")
    page.leave()

    kept = tracked.stored("/kept", 5, "name", "anonymous_id", "session_id")
    assert [row[0] for row in kept] == [VIEW, EXIT, VIEW, "after the break", EXIT]
    assert len({row[1] for row in kept}) == 1
    assert len({row[2] for row in kept[:3]}) == len({row[2] for row in kept[3:]}) == 1
    assert kept[3][2] not in (None, kept[0][2])
    assert cookies == ""


def test_a_strict_policy_lets_everything_through(tracked: Tracked, page: Page) -> None:
    to = tracked.collect_url
    page.go(
        tracked.shows(
            "/strict",
            tracked.tag("data-vitals data-errors data-persist"),
            "<button data-tidemark=pressed>Press",
            policy=f"default-src 'none'; script-src {to}; connect-src {to}; "
            "base-uri 'none'; form-action 'none'",
        )
    )
    page.click("button")
    page.leave()

    assert tracked.stored("/strict", 3, "name") == [VIEW, "pressed", EXIT]
    assert page.complaints == []
    scripts = [url for _, url in page.requests if url.endswith(".js")]
    assert scripts == [f"{to}/tidemark{each}.js" for each in ("", "-vitals", "-errors")]


@pytest.mark.parametrize(
    ("place", "source", "more"),
    [
        ("/own", "/t/tidemark.js", ""),
        ("/renamed", "/t/tidemark.js?v=2/3", 'data-vitals data-collect-url="/t"'),
    ],
)
def test_a_site_may_serve_and_collect_under_its_own_path(
    tracked: Tracked, page: Page, place: str, source: str, more: str
) -> None:
    url = tracked.shows(place, tracked.tag(more, source), policy="default-src 'self'")

    page.go(url)
    page.leave()

    assert tracked.stored(place, 2, "name") == [VIEW, EXIT]
    assert page.complaints == []
    assert {url.split("/")[2] for _, url in page.requests} == {f"localhost:{tracked.site.port}"}


def test_the_hashed_name_passes_its_integrity_and_another_script_does_not(
    tracked: Tracked, page: Page
) -> None:
    script = read_manifest()["tidemark"]
    source = f"{tracked.collect_url}/tidemark.{script.hash}.js"
    pinned = f'integrity="{script.integrity}" crossorigin="anonymous"'
    broken = pinned.replace(script.integrity, read_manifest()["tidemark-errors"].integrity)
    page.go(tracked.shows("/pinned/no", tracked.tag(broken, source)))
    page.go(tracked.shows("/pinned/yes", tracked.tag(pinned, source)))
    page.leave()

    assert tracked.stored("/pinned", 2, "path") == ["/pinned/yes"] * 2
    assert len(page.complaints) == 1
    assert "integrity" in page.complaints[0]


def test_what_could_not_be_taken_is_sent_again_and_stored_once(
    tracked: Tracked, page: Page
) -> None:
    tracked.site.refusals = 1
    page.go(tracked.shows("/retry", tracked.tag("", "/t/tidemark.js")))

    assert tracked.stored("/retry", 1, "name") == [VIEW]
    assert [status for status, _ in page.received("/track")] == [503, 200]
