"""Activity of the last minutes; it is 2026-11-30T00:53:20Z."""

from tests.query.lake import a_view
from tests.query.query_service import InProcessService


def test_what_happens_now_is_of_the_last_five_minutes(service: InProcessService) -> None:
    service.holds(
        a_view("/now", visitor="u1", at="2026-11-30T00:48:20Z"),
        a_view("/early", visitor="u2", session="s2", at="2026-11-30T00:48:19.999Z"),
    )
    long_ago = {"startDate": "2020-01-01", "endDate": "2020-01-01"}

    assert service.rows("active_stats", **long_ago) == [{"active_users": 1, "active_sessions": 1}]
    assert service.rows("realtime_pages", **long_ago) == [
        {"path": "/now", "pageviews": 1, "visitors": 1}
    ]
    minutes = service.rows("realtime_velocity", **long_ago)
    assert (len(minutes), minutes[0]["minute"]) == (60, "2026-11-29T23:54:00.000Z")
    assert minutes[-6:-4] == [
        {"minute": "2026-11-30T00:48:00.000Z", "pageviews": 2, "events": 2, "visitors": 2},
        {"minute": "2026-11-30T00:49:00.000Z", "pageviews": 0, "events": 0, "visitors": 0},
    ]


def test_a_tagged_link_without_a_referrer_is_its_source(service: InProcessService) -> None:
    now = "2026-11-30T00:52:00Z"
    service.holds(
        a_view("/", visitor="u1", session="s1", at=now, utm_source="newsletter"),
        a_view("/", visitor="u2", session="s2", at=now),
        a_view(
            "/", visitor="u3", session="s3", at=now, referrer_name="Google", utm_source="adwords"
        ),
    )

    assert service.rows("realtime_referrers") == [
        {"referrer": "Direct", "visitors": 1},
        {"referrer": "Google", "visitors": 1},
        {"referrer": "newsletter", "visitors": 1},
    ]
    [*_, row] = sorted(service.rows("realtime_feed"), key=lambda row: row["source"])
    assert row == {
        "event_name": "screen_view",
        "path": "/",
        "country": None,
        "browser_name": None,
        "timestamp": "2026-11-30T00:52:00.000Z",
        "kind": "page_view",
        "href": None,
        "source": "newsletter",
        "session_id": "s1",
        "visitor_id": "u1",
    }
