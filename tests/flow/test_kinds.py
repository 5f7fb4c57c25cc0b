"""Each kind of item, posted as a tracker posts it, with complete query results."""

import json
from datetime import UTC, datetime
from typing import Any

from tests.flow.tenant import CHROME_USER_AGENT, DAY, IPHONE_USER_AGENT, Tenant, at_ms
from tests.http_client import accepted_body, call
from tests.installation import eventually


def view(visitor: str, clock: str, path: str, **more: Any) -> dict[str, Any]:
    """A page view in the visitor's only session."""
    return {
        "name": "screen_view",
        "anonymousId": visitor,
        "sessionId": f"s-{visitor}",
        "timestamp": at_ms(clock),
        "path": f"https://shop.example{path}",
        **more,
    }


def traffic(tenant: Tenant) -> None:
    """Anna reads two pages, signs up and leaves; Ben bounces; Cleo reads one page twice."""
    anna = {"anonymousId": "anna", "sessionId": "s-anna"}
    tenant.send(
        [
            view("anna", "10:00:00", "/home?utm_source=x", referrer="https://www.google.com/"),
            view("anna", "10:01:00", "/pricing/", referrer="https://shop.example/home"),
            {
                "name": "signup",
                "timestamp": at_ms("10:02:00"),
                "properties": {"plan": "pro"},
                **anna,
            },
            {
                "name": "outgoing_link",
                "timestamp": at_ms("10:02:30"),
                "href": "https://docs.other.example/start",
                "text": "Docs",
                **anna,
            },
        ]
    )
    tenant.send(view("ben", "11:00:00", "/home"), agent=IPHONE_USER_AGENT)
    tenant.send([view("cleo", "12:00:00", "/home"), view("cleo", "12:00:20", "/home/")])
    eventually(lambda: tenant.rows("summary")[0]["total_events"] == 7)


def test_page_views_become_a_summary(tenant: Tenant) -> None:
    traffic(tenant)

    assert tenant.rows("summary") == [
        {
            "pageviews": 5,
            "unique_visitors": 3,
            "sessions": 3,
            "bounce_rate": 33.33,
            "median_session_duration": 20.0,
            "pages_per_session": 1.67,
            "total_events": 7,
        }
    ]
    assert tenant.rows("pages") == [
        {"name": "/home", "pageviews": 4, "visitors": 3, "percentage": 75.0},
        {"name": "/pricing", "pageviews": 1, "visitors": 1, "percentage": 25.0},
    ]
    assert tenant.grouped_counts(
        "events", "name", "referrer_name", "browser_name", "device_type"
    ) == [
        ("outgoing_link", "Google", "Chrome", "desktop", 1),
        ("screen_view", "Direct", "Chrome", "desktop", 2),
        ("screen_view", "Direct", "Safari", "mobile", 1),
        ("screen_view", "Google", "Chrome", "desktop", 2),
        ("signup", "Google", "Chrome", "desktop", 1),
    ]
    assert tenant.grouped_counts(
        "sessions", "session_id", "duration", "page_views", "is_bounce"
    ) == [
        ("s-anna", 150, 2, False, 1),
        ("s-ben", 0, 1, True, 1),
        ("s-cleo", 20, 2, False, 1),
    ]


def test_traffic_is_told_by_its_source(tenant: Tenant) -> None:
    traffic(tenant)

    sources = {row["name"]: row["pageviews"] for row in tenant.rows("traffic")}

    assert sources == {"Direct": 3, "Google": 2}
    assert tenant.grouped_counts("events", "utm_source", filters=[eq("name", "screen_view")]) == [
        ("x", 2),
        (None, 3),
    ]


def test_outbound_clicks_are_told_by_link_and_domain(tenant: Tenant) -> None:
    traffic(tenant)

    assert tenant.rows("outbound_links") == [
        {
            "href": "https://docs.other.example/start",
            "text": "Docs",
            "total_clicks": 1,
            "unique_users": 1,
            "unique_sessions": 1,
            "percentage": 100.0,
            "last_clicked": f"{DAY}T10:02:30.000Z",
        }
    ]
    assert tenant.rows("outbound_domains") == [
        {
            "domain": "docs.other.example",
            "total_clicks": 1,
            "unique_users": 1,
            "unique_links": 1,
            "percentage": 100.0,
        }
    ]


def test_vitals_are_asked_by_metric(tenant: Tenant) -> None:
    values = [("LCP", 1200), ("LCP", 2400.5), ("CLS", 0.0312)]
    items = [
        {
            "timestamp": at_ms("09:00:00"),
            "path": "https://shop.example/a",
            "metricName": m,
            "metricValue": v,
        }
        for m, v in values
    ]
    sent = tenant.send(items, "/vitals")

    assert (sent.status, accepted_body(sent)) == (
        200,
        {"status": "success", "type": "web_vitals", "count": 3},
    )
    query = {
        "table": "vitals",
        "selects": [
            {"field": "metric_value", "aggregate": "avg", "alias": "mean"},
            {"field": "*", "aggregate": "count", "alias": "n"},
        ],
        "groupBy": ["metric_name", "path"],
    }
    eventually(lambda: sum(r["n"] for r in tenant.custom(query).json["data"]) == 3)
    assert tenant.custom(query).json["data"] == [
        {"metric_name": "LCP", "path": "/a", "mean": 1800.25, "n": 2},
        {"metric_name": "CLS", "path": "/a", "mean": 0.0312, "n": 1},
    ]


def test_errors_are_asked_by_message(tenant: Tenant) -> None:
    report = {
        "timestamp": at_ms("09:00:00"),
        "path": "https://shop.example/cart",
        "message": "x is undefined",
        "filename": "https://shop.example/app.js",
        "lineno": 10,
        "colno": 5,
        "stack": "at app.js:10",
        "errorType": "TypeError",
    }
    sent = tenant.send([report, {**report, "message": "y is undefined"}, report], "/errors")

    assert (sent.status, accepted_body(sent)) == (
        200,
        {"status": "success", "type": "error", "count": 3},
    )
    eventually(lambda: len(tenant.grouped_counts("errors", "message")) == 2)
    assert tenant.grouped_counts(
        "errors", "message", "level", "error_type", "path", "browser_name"
    ) == [
        ("x is undefined", "error", "TypeError", "/cart", "Chrome", 2),
        ("y is undefined", "error", "TypeError", "/cart", "Chrome", 1),
    ]


def test_errors_are_asked_by_release_and_property(tenant: Tenant) -> None:
    report = {"timestamp": at_ms("09:00:00"), "path": "https://shop.example/", "message": "boom"}
    anna = {"anonymousId": "anna", "sessionId": "s1"}
    first = {**report, **anna, "release": "2.4.0", "properties": {"cart": "full", "items": 3.0}}
    second = {**report, **anna, "release": "2.4.1", "properties": {"cart": "empty"}}
    mixed = {"type": "error", "payload": second}

    sent = [
        tenant.send([first, report], "/errors"),
        tenant.send(mixed, "/"),
        tenant.send([mixed], "/batch"),
    ]

    assert [reply.status for reply in sent] == [200, 200, 200], [reply.body for reply in sent]
    eventually(lambda: tenant.grouped_counts("errors", "message") == [("boom", 4)])
    assert tenant.grouped_counts("errors", "release", "properties.cart", "properties.items") == [
        ("2.4.0", "full", "3", 1),
        ("2.4.1", "empty", None, 2),
        (None, None, None, 1),
    ]
    by_release = tenant.rows("errors_by_release")
    assert [(row["name"], row["count"], row["users"]) for row in by_release] == [
        ("2.4.1", 2, 1),
        ("2.4.0", 1, 1),
        (None, 1, 1),
    ]
    is_full = {"field": "properties.cart", "operator": "eq", "value": "full"}
    [full] = tenant.rows("recent_errors", filters=[is_full])
    assert (full["release"], json.loads(full["properties"])) == (
        "2.4.0",
        {"cart": "full", "items": 3},
    )


def test_a_link_click_redirects_and_counts(tenant: Tenant) -> None:
    url = f"{tenant.stack.collect_url}/l/{tenant.link.slug}"
    headers = {"user-agent": CHROME_USER_AGENT, "referer": "https://news.ycombinator.com/item?id=1"}

    replies = [
        call("GET", url, headers=headers),
        call("GET", url, headers={"user-agent": CHROME_USER_AGENT}),
    ]

    assert [(r.status, r.headers["location"]) for r in replies] == [(302, "https://t.example/")] * 2
    today = datetime.now(UTC).date()
    before = (today - DAY).days
    until_today = {"endDate": str(today), "link": True}
    eventually(lambda: tenant.rows("link_total_clicks", **until_today) == [{"total": 2}])
    by_day = tenant.rows("link_clicks_by_day", **until_today)
    assert [row["clicks"] for row in by_day] == [0] * before + [2]
    assert by_day[0] == {"date": str(DAY), "clicks": 0}
    by_hour = tenant.rows("link_clicks_by_day", granularity="hourly", **until_today)
    assert (len(by_hour), by_hour[0]) == (
        24 * (before + 1),
        {"date": f"{DAY} 00:00:00", "clicks": 0},
    )
    assert sum(row["clicks"] for row in by_hour) == 2
    referrers = tenant.rows("link_top_referrers", **until_today)
    assert [(row["name"], row["clicks"]) for row in referrers] == [
        ("Direct", 1),
        ("Hacker News", 1),
    ]
    assert referrers[0]["referrer"] == "Direct"
    assert referrers[1]["referrer"].startswith("https://news.ycombinator.com/")


def eq(field: str, value: object) -> dict[str, object]:
    return {"field": field, "operator": "eq", "value": value}


def test_what_trackers_send_on_their_own_routes_is_asked_like_the_rest(tenant: Tenant) -> None:
    anna = {"anonymousId": "anna", "sessionId": "s-anna", "timestamp": at_ms("10:00:00")}
    batch = [
        {**anna, "eventId": "e1", "name": "screen_view", "path": "https://shop.example/join"},
        {**anna, "eventId": "e2", "type": "outgoing_link", "href": "https://x.example/"},
        {"type": "web_vitals", "payload": {**anna, "eventId": "v1", "path": "/join", "lcp": 900}},
        {"type": "error", "payload": {**anna, "eventId": "x1", "path": "/join", "message": "m"}},
    ]
    left = {**anna, "path": "/join", "rageClickCount": 1, "formFieldCount": 2, "timeOnPage": 30}

    sent = tenant.send(batch, "/batch")
    # a tracker that saw no answer sends all of it again
    again = tenant.send(batch, "/batch")
    tenant.send([left], "/engagement")
    tenant.send({"profileId": "user-7", "anonymousId": "anna", "traits": {"a": 1}}, "/identify")
    pixel = call(
        "GET",
        f"{tenant.stack.collect_url}/px.jpg?client_id={tenant.website.id}&name=signup"
        f"&timestamp={at_ms('10:01:00')}&properties[plan]=pro",
        headers={"user-agent": CHROME_USER_AGENT},
    )

    assert [sent.json["status"], again.json["status"], pixel.status] == ["success", "success", 200]
    eventually(lambda: len(tenant.grouped_counts("events", "name")) == 3)
    assert tenant.grouped_counts("events", "name", "path", "href", "properties") == [
        ("outgoing_link", None, "https://x.example/", None, 1),
        ("screen_view", "/join", None, None, 1),
        ("signup", None, None, '{"plan":"pro"}', 1),
    ]
    eventually(lambda: tenant.rows("form_abandonment_by_page"))
    assert tenant.rows("form_abandonment_by_page") == [
        {
            "name": "/join",
            "form_starts": 1,
            "form_submits": 0,
            "abandonment_rate": 100.0,
            "top_abandoned_field": None,
        }
    ]
    eventually(lambda: tenant.grouped_counts("vitals", "metric_name", "path"))
    assert tenant.grouped_counts("vitals", "metric_name", "event_id") == [("LCP", "v1:LCP", 1)]
    eventually(lambda: tenant.grouped_counts("errors", "message") == [("m", 1)])
    today: dict[str, Any] = {"preset": "today", "startDate": None, "endDate": None}
    eventually(lambda: tenant.grouped_counts("identities", "profile_id", **today))
    assert tenant.grouped_counts("identities", "profile_id", "anonymous_id", "traits", **today) == [
        ("user-7", "anna", '{"a":1}', 1)
    ]
