"""Clicks and custom events, sent by tidemark.js in a browser."""

import json

from tests.browser.tab import Tab
from tests.browser.tracked_website import EXIT, OUTBOUND, VIEW, TrackedWebsite
from tests.installation import eventually


def test_clicks_that_lead_to_another_host_are_kept_with_their_text(
    tracked: TrackedWebsite, page: Tab
) -> None:
    away = tracked.other_website()
    page.go(
        tracked.add_page(
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

    rows = tracked.stored("/links", 7, "name", "href", "link_text", "outbound_domain")
    assert [row[1:] for row in rows if row[0] == OUTBOUND] == [
        (f"{away}?m", "In the middle", "127.0.0.1"),
        (f"{away}?i", "Icon", "127.0.0.1"),
        (f"{away}?a", "Away", "127.0.0.1"),
    ]


def test_events_are_kept_with_their_properties_also_from_before_the_script(
    tracked: TrackedWebsite, page: Tab
) -> None:
    page.go(
        tracked.add_page(
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
    rows = tracked.stored("/events", 5, "name", "properties")
    assert [(name, json.loads(text or "null")) for name, text in rows] == [
        (VIEW, None),
        ("early", {"n": 1}),
        ("late", {"plan": "pro", "seats": 2}),
        ("bare", None),
        (EXIT, None),
    ]


def test_an_event_may_be_no_interaction(tracked: TrackedWebsite, page: Tab) -> None:
    tracked.site.posted.clear()
    page.go(tracked.add_page("/quiet", tracked.tag("", "/t/tidemark.js")))
    page.js('tidemark("event", "shown", { n: 1 }, { interactive: false }), tidemark("event", "b")')
    page.leave()

    items = json.loads(eventually(lambda: tracked.site.posted)[0])
    sent = [(item["name"], item.get("interactive")) for item in items]
    assert sent[:3] == [(VIEW, None), ("shown", False), ("b", None)]


def test_elements_say_what_event_they_are(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(
        tracked.add_page(
            "/marks",
            tracked.tag(),
            '<button data-tidemark="buy" data-tidemark-plan="pro" data-tidemark-seat_count="2" '
            'data-tidemark-total="49.90" data-tidemark-user-id="007" data-tidemark-zip=" 12345" '
            'data-tidemark-order="12345678901234567890" data-tidemark-less="-0.5">'
            "<b>Buy</b></button>",
            '<form data-tidemark="sign up" data-tidemark-list="news" action="/marks/done">'
            '<input id="field"><input type="submit" id="submit"></form>',
        )
    )
    page.click("button b")
    page.click("#field")
    page.click("#submit")

    rows = tracked.stored("/marks", 4, "name", "path", "properties")
    assert [(*row[:2], json.loads(row[2])) for row in rows if row[0] not in (VIEW, EXIT)] == [
        (
            "buy",
            "/marks",
            {
                "plan": "pro",
                "seat_count": 2,
                "total": 49.9,
                "userId": "007",
                "zip": "12345",
                "order": "12345678901234567890",
                "less": -0.5,
            },
        ),
        ("sign up", "/marks", {"list": "news"}),
    ]
