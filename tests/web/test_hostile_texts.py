"""Texts of senders and users that are long or turn around: nothing grows wide or is reversed."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.http_client import call
from tests.query.lake import a_view, a_vital, an_error, an_event
from tests.web.dashboard import Dashboard, signed_in
from tests.web.query_alone import query_alone
from tests.web.test_accessibility import set_theme, views, violations

LONG = "W" * 255
NOTE = "N" * 1000
REVERSED = "\u202egnp.exe"
SHOWN = "[U+202E]gnp.exe"
UNSEEN = ("\u3164", "\u2800", "\u034f", "\U000e0041", "\U000e0100")
"""A Hangul filler, an empty Braille pattern, a joiner, a tag, a variant of a letter."""
SEEN = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f \u845b\U000e0100"
"""The flag of Scotland, which is spelled with tags, and a variant of a Chinese character."""
READS_ON = """(() => {
  const text = document.querySelector('main .card:has(.series-frame) h2').firstChild;
  const left = (at) => {
    const range = new Range();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().left;
  };
  return left(text.length - 1) > left(text.length - 2) && left(text.length - 2) > left(0);
})()"""
"""Whether the end of the first title stands at its right."""
WIDTHS = (1280, 360)
OPENED = (
    "list/custom_events",
    "list/top_pages",
    f"events/{LONG}",
    f"errors/{LONG}",
    f"visitors/{LONG}",
    f"sessions/{LONG}",
    f"overview?f=path:eq:{LONG}",
    f"events/{quote(REVERSED)}",
)


def post(tenant: Tenant, path: str, body: dict[str, Any]) -> None:
    """Create a record of the website."""
    headers = {"x-api-key": tenant.key, "content-type": "application/json"}
    url = f"{tenant.stack.query_url}/v1/{path}?website_id={tenant.website.id}"
    reply = call("POST", url, body, headers)
    assert reply.status in (200, 201), reply.body


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A tenant in which every text has 255 letters without a place to break."""
    common: dict[str, Any] = {"at": f"{DAY}T10:00:00Z", "visitor": LONG, "session": LONG}
    source: dict[str, Any] = {
        "referrer": f"https://{LONG}.example/",
        "utm_campaign": LONG,
        "city": LONG,
    }
    rows = [
        a_view(f"/{LONG}", **common, **source),
        a_vital("LCP", 1200, **common),
        an_event(LONG, path=f"/{LONG}", properties=f'{{"{LONG}":"{LONG}"}}', **common),
        an_event(REVERSED, **common),
        an_event("".join(UNSEEN), **common),
        an_event(SEEN, **common),
        an_error(LONG, error_type=LONG, filename=LONG, **common),
    ]
    with query_alone(tmp_path_factory.mktemp("hostile"), rows, name=LONG) as tenant:
        post(tenant, "shares", {"name": LONG, "filters": []})
        post(tenant, "goals", {"name": LONG, "event": LONG})
        condition = {"field": "path", "operator": "eq", "value": LONG}
        post(tenant, "segments", {"name": LONG, "filters": [condition]})
        post(tenant, "annotations", {"start": str(DAY), "text": NOTE})
        post(tenant, "annotations", {"start": str(DAY), "text": REVERSED})
        yield tenant


@pytest.fixture
def page(chromium: Chromium, hostile: Tenant) -> Iterator[Dashboard]:
    """The dashboard of the hostile tenant, signed in."""
    yield from signed_in(chromium, hostile)


def open_view(page: Dashboard, view: str) -> None:
    """Open a view, with its filter when it has one."""
    name, _, query = view.partition("?")
    page.open(name, **({"f": query.removeprefix("f=")} if query else {}))


def test_no_view_grows_wider_than_the_window(page: Dashboard) -> None:
    page.open("overview")
    wide = {}
    for view in [*views(page), *OPENED]:
        page.tab.set_size(WIDTHS[0])
        open_view(page, view)
        for width in WIDTHS:
            page.tab.set_size(width)
            page.until(f"innerWidth === {width}")
            page.tab.js(
                "new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 50)))"
            )
            found = page.tab.js("document.documentElement.scrollWidth")
            if found > width:
                wide[view[:24], width] = found
    assert wide == {}


def test_no_view_breaks_a_rule_of_wcag_in_the_dark_theme(page: Dashboard) -> None:
    set_theme(page, "dark")
    page.open("overview")
    broken = {}
    for view in [*views(page), *OPENED]:
        open_view(page, view)
        if found := violations(page):
            broken[view[:24]] = found
    assert broken == {}


def test_a_link_with_a_long_name_can_be_revoked_without_scrolling(page: Dashboard) -> None:
    page.tab.set_size(WIDTHS[0])
    page.open("shares")
    right = page.until("document.querySelector('.button.danger').getBoundingClientRect().right")
    assert right <= WIDTHS[0]


def test_a_name_that_turns_around_turns_nothing_beside_it(page: Dashboard) -> None:
    page.open(f"events/{quote(REVERSED)}")
    assert page.text("main .card:has(.series-frame) h2").endswith(" over time")
    assert page.tab.js(READS_ON)
    notes = page.until("[...document.querySelectorAll('.note-mark bdi')].map((e) => e.innerText)")
    assert set(notes) == {NOTE, SHOWN}


def test_characters_that_nobody_sees_are_named_wherever_a_text_is_shown(page: Dashboard) -> None:
    page.open("events")
    names = [row[0] for row in page.rows("Events")]
    assert {SHOWN, "".join(f"[U+{ord(unseen):04X}]" for unseen in UNSEEN), SEEN} <= set(names)
    page.press(SHOWN, "main")
    page.until("document.querySelector('.crumbs')")
    page.settle()
    texts = page.tab.js(
        "[document.body.innerText, document.title, ...[...document.querySelectorAll('[title]"
        ", [aria-label]')].flatMap((e) => [e.title, e.getAttribute('aria-label') ?? ''])]"
    )
    assert any(SHOWN in text for text in texts)
    assert not [text for text in texts if "\u202e" in text]
    assert quote(REVERSED) in page.tab.address

    page.open("events", f=f"name:eq:{REVERSED}")
    assert page.text(".chip-text").strip("\u2068\u2069") == f"Event is {SHOWN}"
    assert [row[0] for row in page.rows("Events")] == [SHOWN]
