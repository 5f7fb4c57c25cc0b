"""Opt-out and identity: tidemark.js respects both."""

import pytest

from tests.browser.tab import Tab
from tests.browser.tracked_website import EXIT, VIEW, TrackedWebsite


@pytest.mark.parametrize("way", ["control", "attribute", "command"])
def test_who_does_not_want_to_be_seen_is_not(tracked: TrackedWebsite, page: Tab, way: str) -> None:
    extras, own = "data-persist data-vitals data-errors", "/t/tidemark.js"
    if way == "control":
        page.before_each("Object.defineProperty(navigator, 'globalPrivacyControl', {value: true})")
    attributes = f"{extras} data-optout" if way == "attribute" else extras
    url = tracked.add_page(f"/unseen/{way}", tracked.tag(attributes, own))
    if way == "command":
        page.go(url)
        page.js('tidemark("optout")')

    tracked.site.posted.clear()
    page.go(url)
    page.js('tidemark("event", "seen"), setTimeout(() => { throw new Error("seen") })')
    page.go(url)

    assert tracked.site.posted == []
    storage = {"tidemark": "optout"} if way == "command" else {}
    assert page.js("({...localStorage})") == storage


def test_who_opts_in_again_is_seen_again(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(tracked.add_page("/again", tracked.tag()))
    page.js('tidemark("optout"), tidemark("event", "unseen"), tidemark("optin")')
    page.js('tidemark("event", "seen")')
    page.leave()

    assert tracked.stored("/again", 3, "name") == [VIEW, "seen", EXIT]


def test_ids_are_kept_only_when_asked_for(tracked: TrackedWebsite, page: Tab) -> None:
    one, two = (tracked.add_page(f"/kept/{n}", tracked.tag("data-persist")) for n in (1, 2))
    page.go(one)
    page.go(two)
    page.js("localStorage.tidemark = localStorage.tidemark.replace(/^\\d+/, (ms) => ms - 1800001)")
    page.js('tidemark("event", "after the break")')
    cookies = page.js("document.cookie")
    page.leave()

    rows = tracked.stored("/kept", 5, "name", "anonymous_id", "session_id")
    assert [row[0] for row in rows] == [VIEW, EXIT, VIEW, "after the break", EXIT]
    assert len({row[1] for row in rows}) == 1
    assert len({row[2] for row in rows[:3]}) == len({row[2] for row in rows[3:]}) == 1
    assert rows[3][2] not in (None, rows[0][2])
    assert cookies == ""


def test_nothing_is_kept_before_consent_and_after_its_withdrawal(
    tracked: TrackedWebsite, page: Tab
) -> None:
    page.go(tracked.add_page("/consent", tracked.tag('data-persist data-consent="required"')))
    before = page.js("({...localStorage})")
    page.js('tidemark("consent", true), tidemark("event", "agreed")')
    during = page.js("localStorage.tidemark.split(' ').length")
    page.js('tidemark("consent", false), tidemark("event", "withdrawn")')
    after = page.js("localStorage.tidemark + sessionStorage.length")
    page.leave()

    rows = tracked.stored("/consent", 4, "name", "session_id", "anonymous_id", "session_made")
    assert [row[0] for row in rows] == [VIEW, "agreed", "withdrawn", EXIT]
    assert (before, during, after) == ({}, 3, "0")
    assert [row[3] for row in rows] == [True, False, True, True]
    assert rows[0][2] == rows[2][2] != rows[1][2]


def test_a_visitor_without_ids_is_one_visitor_all_the_same(
    tracked: TrackedWebsite, page: Tab
) -> None:
    for place in ("/nobody/1", "/nobody/2"):
        page.go(tracked.add_page(place, tracked.tag()))
    page.leave()

    rows = tracked.stored("/nobody", 4, "anonymous_id", "session_id")
    assert len(set(rows)) == 1, rows
    (summary,) = tracked.query("summary_metrics", "/nobody")
    counted = {name: summary[name] for name in ("pageviews", "unique_visitors", "sessions")}
    assert counted == {"pageviews": 2, "unique_visitors": 1, "sessions": 1}
