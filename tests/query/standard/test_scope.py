"""What filters keep: whole visits, or rows and the visits that have them. Numbers by hand."""

from typing import Any

import pytest

from tests.query.lake import a_view, an_error, an_event
from tests.query.query_service import InProcessService, start_service

ORGANIC = {"field": "channel", "operator": "eq", "value": "Organic Search"}
BRAND = {"field": "utm_campaign", "operator": "eq", "value": "brand"}
PRICING = {"field": "path", "operator": "eq", "value": "/pricing"}
PURCHASE = {"name": "goals", "goals": [{"event": "purchase"}]}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """Three visits from a search engine and two direct ones, by three visitors."""
    service = start_service(tmp_path_factory.mktemp("filters"))
    organic: dict[str, Any] = {"channel": "Organic Search"}
    direct: dict[str, Any] = {"channel": "Direct"}
    first: dict[str, Any] = {"visitor": "u1", "session": "s1"}
    third: dict[str, Any] = {"visitor": "u3", "session": "s3"}
    fifth: dict[str, Any] = {"visitor": "u2", "session": "s5"}
    service.holds(
        # 90 seconds, with a purchase
        a_view("/", at="2026-11-10T10:00:00Z", utm_campaign="brand", **organic, **first),
        a_view("/pricing", at="2026-11-10T10:01:00Z", **direct, **first),
        an_event("purchase", at="2026-11-10T10:01:30Z", path="/pricing", **direct, **first),
        an_error("late", at="2026-11-10T10:01:40Z", **first),
        # a bounce
        a_view("/pricing", at="2026-11-10T11:00:00Z", visitor="u2", session="s2", **organic),
        # 180 seconds, with a purchase
        a_view("/", at="2026-11-10T12:00:00Z", **direct, **third),
        a_view("/docs", at="2026-11-10T12:02:00Z", **direct, **third),
        an_event("purchase", at="2026-11-10T12:03:00Z", path="/docs", **direct, **third),
        # 20 seconds on the next day
        a_view("/", at="2026-11-11T09:00:00Z", visitor="u1", session="s4", **direct),
        a_view("/docs", at="2026-11-11T09:00:20Z", visitor="u1", session="s4", **direct),
        # 30 seconds on the next day
        a_view("/", at="2026-11-11T10:00:00Z", **organic, **fifth),
        a_view("/docs", at="2026-11-11T10:00:30Z", **direct, **fifth),
    )
    return service


def counts(rows: Any, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(row[field] for field in fields) for row in rows]


@pytest.mark.parametrize("field", ["channel", "visit.channel"])
def test_a_filter_on_the_channel_keeps_whole_visits(service: InProcessService, field: str) -> None:
    condition = {**ORGANIC, "field": field}

    assert service.rows("summary", filters=[condition]) == [
        {
            "pageviews": 5,
            "unique_visitors": 2,
            "sessions": 3,
            "bounce_rate": 33.33,
            "median_session_duration": 30.0,
            "pages_per_session": 1.67,
            "total_events": 6,
        }
    ]
    assert service.rows("session_metrics", filters=[condition]) == [
        {
            "total_sessions": 3,
            "avg_session_duration": 40.0,
            "bounce_rate": 33.33,
            "total_events": 6,
        }
    ]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], (2, 2, 2, 66.67)),
        ([ORGANIC], (1, 1, 1, 50.0)),
        ([BRAND], (1, 1, 1, 100.0)),
        ([{**ORGANIC, "field": "event.channel"}], (0, 0, 0, 0.0)),
    ],
)
def test_conversions_belong_to_the_channel_and_campaign_of_their_visit(
    service: InProcessService, filters: list[Any], expected: tuple[Any, ...]
) -> None:
    rows = service.rows(PURCHASE, filters=filters)

    assert counts(rows, "conversions", "visitors", "sessions", "conversion_rate") == [expected]


def test_a_goal_may_have_a_filter_on_the_visit(service: InProcessService) -> None:
    goals = [
        {"event": "purchase", "filters": [ORGANIC]},
        {"event": "purchase", "filters": [{**ORGANIC, "field": "visit.channel"}]},
        {"event": "purchase", "filters": [{**ORGANIC, "field": "event.channel"}]},
    ]

    rows = service.rows({"name": "goals", "goals": goals})

    assert [row["conversions"] for row in rows] == [1, 1, 0]


def test_a_funnel_of_a_channel_has_later_page_views(service: InProcessService) -> None:
    steps = [{"path": "/"}, {"path": "/pricing"}]

    rows = service.rows({"name": "funnel", "steps": steps}, filters=[ORGANIC])

    assert [row["visitors"] for row in rows] == [2, 1]


def test_retention_of_a_channel_has_later_visits_from_it(service: InProcessService) -> None:
    days = {"startDate": "2026-11-10", "endDate": "2026-11-11"}

    rows = service.rows({"name": "retention", "period": "day"}, filters=[ORGANIC], **days)

    assert counts(rows, "date", "period", "visitors", "returned") == [
        ("2026-11-10", 0, 2, 2),
        ("2026-11-10", 1, 2, 1),
        ("2026-11-11", 0, 0, 0),
    ]


def test_entry_and_exit_pages_of_a_channel_are_not_its_pages(service: InProcessService) -> None:
    def pages(name: str) -> list[tuple[Any, ...]]:
        return counts(service.rows(name, filters=[ORGANIC]), "name", "pageviews")

    assert pages("top_pages") == [("/", 2), ("/pricing", 2), ("/docs", 1)]
    assert pages("entry_pages") == [("/", 2), ("/pricing", 1)]
    assert pages("exit_pages") == [("/pricing", 2), ("/docs", 1)]


def test_a_filter_on_a_page_keeps_its_views_and_the_visits_that_saw_it(
    service: InProcessService,
) -> None:
    is_view = {"field": "name", "operator": "eq", "value": "screen_view"}

    [row] = service.rows("summary", filters=[PRICING, is_view])
    entries = service.rows("entry_pages", filters=[PRICING, is_view])

    assert row == {
        "pageviews": 2,
        "unique_visitors": 2,
        "sessions": 2,
        "bounce_rate": 50.0,
        "median_session_duration": 45.0,
        "pages_per_session": 1.5,
        "total_events": 2,
    }
    assert counts(entries, "name", "pageviews") == [("/", 1), ("/pricing", 1)]


def test_a_filter_on_the_entry_page_keeps_the_visits_that_began_there(
    service: InProcessService,
) -> None:
    [row] = service.rows("summary", filters=[{**PRICING, "field": "visit.entry_page"}])

    assert (row["sessions"], row["bounce_rate"], row["total_events"]) == (1, 100.0, 1)


def test_a_list_shows_whole_visits(service: InProcessService) -> None:
    purchase = {"field": "name", "operator": "eq", "value": "purchase"}

    rows = service.rows("session_list", filters=[purchase])
    [scored] = service.rows("interesting_sessions", filters=[purchase, ORGANIC])

    assert counts(rows, "session_id", "page_views") == [("s3", 2), ("s1", 2)]
    assert [[event[2] for event in row["events"]] for row in rows] == [
        ["screen_view", "screen_view", "purchase"]
    ] * 2
    assert (scored["page_views"], scored["custom_events"], scored["errors"]) == (2, 1, 1)
    assert scored["paths"] == ["/", "/pricing"]


def test_a_visit_counts_in_the_bucket_where_it_began_also_without_a_matching_row(
    service: InProcessService,
) -> None:
    docs = {"field": "path", "operator": "eq", "value": "/docs"}
    hour = {"startDate": "2026-11-10 12:00:00", "endDate": "2026-11-10 12:03:59"}

    rows = service.rows("events_by_date", filters=[docs], granularity="minute", **hour)

    assert counts(rows, "pageviews", "sessions", "visitors") == [
        (0, 1, 0),
        (0, 0, 0),
        (1, 0, 1),
        (0, 0, 1),
    ]


def test_errors_have_the_channel_of_their_visit(service: InProcessService) -> None:
    rows = service.rows("recent_errors", filters=[ORGANIC])

    assert [row["message"] for row in rows] == ["late"]
