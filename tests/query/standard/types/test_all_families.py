"""One question of each family at least: numbers worked out by hand."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.query.lake import a_click, a_view, a_vital, an_error, an_event, an_outbound_click
from tests.query.query_service import InProcessService, start_service


@pytest.fixture
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


def at(clock: str) -> str:
    return f"2026-11-10T{clock}Z"


# Sources


def test_a_visit_counts_for_the_source_that_it_came_from(service: InProcessService) -> None:
    service.holds(
        a_view("/", referrer_name="Google", utm_source="ad", at=at("12:00:00")),
        a_view("/b", referrer_name="Direct", at=at("12:01:00")),
        a_view("/c", referrer_name="Direct", session=None, visitor="u2"),
    )

    assert service.rows("traffic") == [
        {"name": "Google", "pageviews": 2, "visitors": 1, "percentage": 50.0},
        {"name": "Direct", "pageviews": 1, "visitors": 1, "percentage": 50.0},
    ]
    assert service.rows("utm_sources") == [
        {"name": "ad", "pageviews": 2, "visitors": 1, "percentage": 100.0}
    ]


def test_a_later_campaign_does_not_change_where_the_visit_came_from(
    service: InProcessService,
) -> None:
    service.holds(
        a_view("/", referrer_name="Google", at=at("12:00:00")),
        a_view("/b", utm_source="ad", referrer_name="X", at=at("12:01:00")),
    )

    assert [row["name"] for row in service.rows("traffic")] == ["Google"]
    assert service.rows("utm_sources") == []


def test_the_source_is_looked_for_before_filters_apply(service: InProcessService) -> None:
    service.holds(
        a_view("/", referrer_name="Google", at=at("12:00:00")),
        a_view("/pricing", referrer_name="Direct", at=at("12:01:00")),
    )
    pricing = [{"field": "path", "op": "eq", "value": "/pricing"}]

    assert service.rows("traffic", filters=pricing) == [
        {"name": "Google", "pageviews": 1, "visitors": 1, "percentage": 100.0}
    ]


# Pages, technology, engagement


def test_the_time_on_a_page_is_in_seconds(service: InProcessService) -> None:
    service.holds(
        a_view("/a", time_on_page=10),
        a_view("/a", time_on_page=25, visitor="u2", session="s2"),
        a_view("/a", visitor="u3", session="s3"),
        an_event("page_exit", path="/a", time_on_page=Decimal(1)),
    )

    assert service.rows("page_performance") == [
        {"name": "/a", "pageviews": 3, "avg_time_on_page": 12.0, "visitors": 3}
    ]
    assert service.rows("page_time_analysis") == [
        {
            "name": "/a",
            "sessions_with_time": 2,
            "visitors": 2,
            "median_time_on_page": 17.5,
            "percentage": 100.0,
        }
    ]


def test_browsers_are_named_with_their_version(service: InProcessService) -> None:
    service.holds(
        a_view("/", browser_name="Chrome", browser_version="140"),
        a_view("/", browser_name="Chrome", browser_version="140", visitor="u2", session="s2"),
        a_view("/", browser_name="Safari"),
    )

    assert [tuple(row.values()) for row in service.rows("browsers_grouped")] == [
        ("Chrome 140", "Chrome", "140", 2, 2, 2),
        ("Safari", "Safari", "", 1, 1, 1),
    ]


def test_scrolling_is_told_by_quarters(service: InProcessService) -> None:
    depths = (Decimal(0), Decimal(10), Decimal(25), Decimal("74.9"), Decimal(75), Decimal(100))
    service.holds(
        *(
            a_view("/a", scroll_depth=depth, visitor=f"u{n}", session=f"s{n}")
            for n, depth in enumerate(depths)
        )
    )

    assert [tuple(row.values()) for row in service.rows("scroll_depth_distribution")] == [
        ("0-25%", 1, 1, 20.0),
        ("25-50%", 1, 1, 20.0),
        ("50-75%", 1, 1, 20.0),
        ("75-100%", 2, 2, 40.0),
    ]
    # five of them are above 0, and sum up to 284.9
    assert service.rows("scroll_depth_summary") == [
        {"avg_scroll_depth": 56.98, "total_sessions": 5, "visitors": 5}
    ]


def test_sessions_that_interact_are_a_share_of_all(service: InProcessService) -> None:
    service.holds(
        a_view("/", interaction_count=3, session="s1"),
        a_view("/", interaction_count=0, session="s1"),
        a_view("/", interaction_count=0, session="s2"),
        a_view("/", session="s3"),
    )

    assert service.rows("interaction_summary") == [
        {
            "avg_interactions": 1.0,
            "interactive_sessions": 1,
            "interaction_rate": 33.33,
            "total_sessions": 3,
        }
    ]


# Speed


def test_load_times_have_a_median_and_what_is_missing_is_null(service: InProcessService) -> None:
    service.holds(
        *(a_view("/slow", load_time=ms) for ms in (1000, 3000)),
        a_view("/fast", load_time=100, ttfb=40),
        a_view("/fast", load_time=0),
        a_view("/fast"),
    )

    assert [tuple(row.values()) for row in service.rows("slow_pages")] == [
        ("/slow", 1, 2000.0, 2000.0, None, None, None, 2),
        ("/fast", 1, 100.0, 100.0, 40.0, None, None, 1),
    ]


def test_percentiles_of_vitals_lie_between_two_samples(service: InProcessService) -> None:
    service.holds(
        *(a_vital("LCP", value) for value in (100, 200, 300, 400, 500)), a_vital("CLS", 0.1)
    )

    # 5 samples: the 75th percentile is the 4th, the 90th lies 0.6 of the way from 4th to 5th
    assert service.rows("vitals_overview") == [
        {
            "metric_name": "CLS",
            **dict.fromkeys(("p50", "p75", "p90", "p95", "p99", "avg_value"), 0.1),
            "samples": 1,
        },
        {
            "metric_name": "LCP",
            "p50": 300.0,
            "p75": 400.0,
            "p90": 460.0,
            "p95": 480.0,
            "p99": 496.0,
            "avg_value": 300.0,
            "samples": 5,
        },
    ]


def test_vitals_side_by_side_are_null_where_nothing_was_measured(service: InProcessService) -> None:
    service.holds(a_vital("LCP", 1200, country="DE"), a_vital("LCP", 1300, country="DE"))

    [row] = service.rows("web_vitals_by_country")

    assert (row["name"], row["p50_lcp"], row["p50_cls"], row["measurements"]) == (
        "DE",
        1250.0,
        None,
        2,
    )


# Sessions


def test_sessions_are_told_by_how_long_they_lasted(service: InProcessService) -> None:
    for n, clock in enumerate(("12:00:29", "12:00:30", "12:04:59", "13:00:00")):
        service.holds(
            a_view("/", session=f"s{n}", at=at("12:00:00")),
            an_event("page_exit", session=f"s{n}", at=at(clock)),
        )

    assert service.rows("session_duration_distribution") == [
        {"duration_range": name, "sessions": 1, "visitors": 1}
        for name in ("0-30s", "1h+", "1m-5m", "30s-1m")
    ]


def test_a_session_is_on_the_device_of_its_first_page_view(service: InProcessService) -> None:
    service.holds(
        an_event("opened", session="s1", at=at("11:59:59")),
        a_view("/", session="s1", device_type="mobile", at=at("12:00:00")),
        a_view("/b", session="s1", device_type="desktop", at=at("12:01:00")),
        a_view("/", session="s2", at=at("12:00:00")),
    )

    assert service.rows("sessions_by_device") == [
        {"name": "Unknown", "sessions": 1, "visitors": 1, "avg_session_duration": 0.0},
        {"name": "mobile", "sessions": 1, "visitors": 1, "avg_session_duration": 61.0},
    ]


def test_a_list_of_sessions_holds_their_events_in_order(service: InProcessService) -> None:
    service.holds(
        a_view("/a", at=at("12:00:00"), event_id="e1", referrer_name="Google"),
        an_event("signup", path="/a", at=at("12:00:05"), event_id="e2", properties='{"n":1}'),
        a_view("/b", session="s2", visitor="u2", at=at("13:00:00"), event_id="e3"),
    )

    newest, oldest = service.rows("session_list")

    assert (newest["session_id"], newest["visitor_id"]) == ("s2", "u2")
    assert newest["events"] == [["e3", "2026-11-10T13:00:00.000Z", "screen_view", "/b", None]]
    assert (oldest["page_views"], oldest["referrer"]) == (1, "Google")
    assert oldest["events"] == [
        ["e1", "2026-11-10T12:00:00.000Z", "screen_view", "/a", None],
        ["e2", "2026-11-10T12:00:05.000Z", "signup", "/a", '{"n":1}'],
    ]


def test_interesting_sessions_are_scored_by_what_happened(service: InProcessService) -> None:
    service.holds(
        a_view("/a", at=at("12:00:00")),
        a_view("/b", at=at("12:02:00")),
        an_event("signup", at=at("12:00:30")),
        an_outbound_click("https://x.example/", at=at("12:00:40")),
        an_error("boom", at=at("12:01:00")),
        a_view("/a", session="s2", visitor="u2", at=at("12:00:00")),
    )

    first, second = service.rows("interesting_sessions")

    # 2 views x 2, 2 pages x 3, 2 events, 1 error x 2, and 5 for two minutes
    assert (first["session_id"], first["interesting_score"]) == ("s1", 4 + 6 + 2 + 2 + 5)
    assert (first["paths"], first["custom_event_names"]) == (["/a", "/b"], ["signup"])
    assert (first["duration_seconds"], first["errors"]) == (120, 1)
    assert (second["session_id"], second["interesting_score"]) == ("s2", 2 + 3)


# Errors


def test_the_error_rate_is_of_sessions(service: InProcessService) -> None:
    service.holds(
        *(a_view("/", session=f"s{n}") for n in range(1, 5)),
        an_error("boom", session="s1"),
        an_error("boom", session="s1", visitor="u2"),
    )

    assert service.rows("error_summary") == [
        {
            "totalErrors": 2,
            "uniqueErrorTypes": 1,
            "affectedUsers": 2,
            "affectedSessions": 1,
            "errorRate": 25.0,
        }
    ]
    # the website's sessions know no messages: that filter is for errors only
    other = [{"field": "message", "op": "eq", "value": "other"}]
    assert service.rows("error_summary", filters=other)[0]["errorRate"] == 0.0


def test_errors_of_one_place_are_a_group(service: InProcessService) -> None:
    where: dict[str, Any] = {"error_type": "TypeError", "filename": "a.js", "lineno": 7}
    service.holds(
        an_error("boom", at=at("12:00:00"), path="/old", stack="s1", **where),
        an_error("boom", at=at("13:00:00"), path="/new", stack="s2", visitor="u2", **where),
        an_error("boom", at=at("12:30:00"), path="/new"),
    )

    assert [tuple(row.values()) for row in service.rows("error_fingerprints")] == [
        (
            "boom",
            2,
            2,
            1,
            "/new",
            "TypeError",
            "a.js",
            7,
            "s2",
            "2026-11-10T12:00:00.000Z",
            "2026-11-10T13:00:00.000Z",
        ),
        (
            *("boom", 1, 1, 1, "/new", None, None, None, None),
            "2026-11-10T12:30:00.000Z",
            "2026-11-10T12:30:00.000Z",
        ),
    ]


# Custom events


def test_properties_are_told_by_key_and_value(service: InProcessService) -> None:
    service.holds(
        an_event("buy", properties='{"plan":"pro","seats":2}'),
        an_event("buy", properties='{"plan":"pro","seats":3.5}'),
        an_event("buy", properties='{"plan":"free","note":null}'),
        a_view("/", properties='{"plan":"none"}'),
    )

    assert [tuple(row.values()) for row in service.rows("custom_events_property_top_values")] == [
        ("buy", "plan", "pro", 2, 3, 66.67, 1),
        ("buy", "plan", "free", 1, 3, 33.33, 2),
        ("buy", "seats", "2", 1, 2, 50.0, 1),
        ("buy", "seats", "3.5", 1, 2, 50.0, 2),
    ]
    assert [tuple(row.values()) for row in service.rows("custom_events_discovery")] == [
        ("buy", 3, 1, 1, "plan", 2, ["pro", "free"]),
        ("buy", 3, 1, 1, "seats", 2, ["2", "3.5"]),
    ]
    plan, seats = service.rows("custom_events_property_classification")
    assert (plan["inferred_type"], plan["coverage_ratio"]) == ("categorical", 1.0)
    assert (seats["inferred_type"], seats["coverage_ratio"]) == ("numeric", 0.6667)
    assert (seats["avg_length"], seats["max_length"]) == (2.0, 3)


def test_events_of_each_day_are_told_by_name(service: InProcessService) -> None:
    service.holds(
        an_event("a"), an_event("a"), an_event("b"), an_event("b", at="2026-11-12T00:00:00Z")
    )

    assert [tuple(row.values()) for row in service.rows("custom_events_trends_by_event")] == [
        ("2026-11-10", "a", 2),
        ("2026-11-10", "b", 1),
        ("2026-11-12", "b", 1),
    ]


# Profiles


def test_a_profile_is_one_visitor_over_all_sessions(service: InProcessService) -> None:
    service.holds(
        a_view("/a", session="s1", country="DE", at=at("12:00:00")),
        an_event("signup", session="s1", at=at("12:01:05")),
        a_view("/b", session="s2", country="FR", at=at("14:00:00")),
        a_vital("LCP", 1200.5, session="s2", at=at("14:00:01")),
        a_view("/", visitor="u2", session="s3"),
    )
    one = [{"field": "anonymous_id", "op": "eq", "value": "u1"}]

    [detail] = service.rows("profile_detail", filters=one)
    assert (detail["total_sessions"], detail["total_pageviews"], detail["country"]) == (2, 2, "FR")
    assert (detail["total_duration"], detail["total_duration_formatted"]) == (65.0, "1m 5s")
    newest, oldest = service.rows("profile_sessions", filters=one)
    assert (newest["session_name"], oldest["session_name"]) == ("Session 2", "Session 1")
    assert newest["web_vitals"] == [["2026-11-10T14:00:01.000Z", "LCP", 1200.5, "/"]]
    assert [event[2] for event in oldest["events"]] == ["screen_view", "signup"]
    assert [row["visitor_id"] for row in service.rows("profile_list")] == ["u1", "u2"]


# Links


def test_referrers_of_a_day_are_counted_once(service: InProcessService) -> None:
    service.holds(
        a_click(referrer_name="X"),
        a_click(referrer_name="X"),
        a_click(referrer_name="Google"),
        a_click(referrer_name="Direct"),
    )
    span = {"startDate": "2026-11-09", "endDate": "2026-11-10"}

    assert service.rows("link_referrers_by_day", subject="link:go", **span) == [
        {"date": "2026-11-09", "value": 0},
        {"date": "2026-11-10", "value": 2},
    ]


# This moment: it is 2026-11-30T00:53:20Z


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


def test_today_is_the_day_of_the_zone(service: InProcessService) -> None:
    service.holds(
        a_view("/", at="2026-11-29T23:30:00Z"),  # the 30th in Berlin
        a_view("/", at="2026-11-30T00:30:00Z", visitor="u2", session="s2"),
        a_view("/", at="2026-11-29T22:30:00Z", visitor="u3", session="s3"),
    )

    assert service.rows("today_metrics") == [{"pageviews": 1, "visitors": 1, "sessions": 1}]
    assert service.rows("today_metrics", timezone="Europe/Berlin") == [
        {"pageviews": 2, "visitors": 2, "sessions": 2}
    ]
