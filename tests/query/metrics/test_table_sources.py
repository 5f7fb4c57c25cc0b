"""Metrics of error reports, alone and beside those of events."""

from pathlib import Path

from tests.query.lake import a_view, an_error, an_event, an_outbound_click
from tests.query.metrics_queries import ask, error, rows, three_visits, where
from tests.query.query_service import InProcessService, reused, start_service
from tests.query.times import at


@reused
def service(tmp_path: Path) -> InProcessService:
    """s1 has two errors, s2 none, s3 one; s9 has an error and no page view."""
    service = start_service(tmp_path)
    service.holds(
        *three_visits(),
        an_error("boom", at=at("10:00:30"), visitor="u1", session="s1", path="/"),
        an_error("boom", at=at("10:01:30"), visitor="u1", session="s1", path="/pricing"),
        an_error("bang", at=at("12:00:30"), visitor="u3", session="s3", path="/pricing"),
        an_error("bang", at=at("13:00:00"), visitor="u9", session="s9", path="/lost"),
        an_error("boom", website="blog"),
        an_error("boom", website="rival"),
    )
    return service


def test_errors_beside_metrics_of_events(service: InProcessService) -> None:
    found = rows(service, "errors", "affected_visitors", "error_rate", "errors_per_view", "visits")

    # 3 of 4 sessions, 4 errors of 4 page views
    assert found == [
        {
            "errors": 4,
            "affected_visitors": 3,
            "error_rate": 75.0,
            "errors_per_view": 1.0,
            "visits": 3,
        }
    ]


def test_the_error_rate_is_that_of_the_query_type(service: InProcessService) -> None:
    body = {"parameters": ["error_summary"], "startDate": "2026-11-01", "endDate": "2026-11-30"}

    [entry] = service.ask("POST", "/v1/query", body, website_id="shop").json["data"]

    assert rows(service, "error_rate") == [{"error_rate": entry["data"][0]["errorRate"]}]


def test_errors_by_facts_of_row_and_visit(service: InProcessService) -> None:
    by_page = rows(service, "errors", "error_rate", "page_views", dimensions=["path"])
    by_channel = rows(service, "errors", "error_rate", dimensions=["visit.channel"])

    assert by_page == [
        {"path": "/pricing", "errors": 2, "error_rate": 100.0, "page_views": 2},
        {"path": "/", "errors": 1, "error_rate": 50.0, "page_views": 2},
        {"path": "/lost", "errors": 1, "error_rate": 100.0, "page_views": 0},
    ]
    assert by_channel == [
        {"visit.channel": "Organic Search", "errors": 2, "error_rate": 100.0},
        {"visit.channel": "Direct", "errors": 1, "error_rate": 50.0},
        {"visit.channel": None, "errors": 1, "error_rate": 100.0},
    ]


def test_errors_by_time_and_by_their_own_columns(service: InProcessService) -> None:
    by_hour = rows(service, "errors", dimensions=["time:hour_of_day"])
    by_message = rows(service, "errors", "affected_visitors", dimensions=["message"])

    assert by_hour == [
        {"time:hour_of_day": hour, "errors": count} for hour, count in ((10, 2), (12, 1), (13, 1))
    ]
    assert by_message == [
        {"message": "bang", "errors": 2, "affected_visitors": 2},
        {"message": "boom", "errors": 2, "affected_visitors": 1},
    ]


def test_filters_keep_rows_of_each_table(service: InProcessService) -> None:
    path = [where("path", "/pricing")]
    channel = [where("visit.channel", "Direct")]

    assert rows(service, "errors", "page_views", filters=path) == [{"errors": 2, "page_views": 2}]
    assert rows(service, "errors", "visits", filters=channel) == [{"errors": 1, "visits": 2}]
    assert rows(service, "errors", filters=[where("message", "boom")]) == [{"errors": 2}]


def test_new_visitors_have_no_event_before_the_time_range(service: InProcessService) -> None:
    service.holds(a_view(at="2025-01-01T00:00:00Z", visitor="u1", session="old"))

    found = rows(service, "errors", "visitors", dimensions=["visitor.is_new"])

    assert found == [
        {"visitor.is_new": False, "errors": 2, "visitors": 1},
        {"visitor.is_new": True, "errors": 2, "visitors": 2},
    ]


def test_a_query_of_errors_reads_events_for_facts_only(service: InProcessService) -> None:
    plain = ask(service, "errors").json["meta"]["versions"]
    by_channel = ask(service, "errors", dimensions=["visit.channel"]).json["meta"]["versions"]

    assert plain == {"errors": 1}
    assert by_channel == {"errors": 1, "events": 1}


def test_nothing_has_no_rate(service: InProcessService) -> None:
    found = rows(
        service, "errors", "error_rate", "errors_per_view", filters=[where("country", "FR")]
    )

    assert found == [{"errors": 0, "error_rate": None, "errors_per_view": None}]


def test_small_rates_have_four_decimals(service: InProcessService) -> None:
    service.holds(*(a_view("/docs", visitor="u5", session="s5") for _ in range(2000)))
    service.holds(an_error(path="/docs"))

    found = rows(service, "errors_per_view", filters=[where("path", "/docs")])

    assert found == [{"errors_per_view": 0.0005}]


def test_outbound_clicks(service: InProcessService) -> None:
    service.holds(an_outbound_click("https://x.example/1", path="/"))

    found = rows(service, "outbound_clicks", dimensions=["path"])

    assert found[0] == {"path": "/", "outbound_clicks": 1}


def test_a_dimension_that_a_table_does_not_have_is_refused(service: InProcessService) -> None:
    assert error(service, "errors", dimensions=["title"]) == (
        "The metric 'errors' is of table 'errors', whose rows have no 'title'; leave out one of "
        "them, or ask in two queries"
    )
    assert error(service, "p75_lcp", filters=[where("properties.plan", "pro")]) == (
        "The metric 'p75_lcp' is of table 'vitals', whose rows have no 'properties.plan'; leave "
        "out one of them, or ask in two queries"
    )


def test_errors_by_release_and_property(service: InProcessService) -> None:
    service.holds(
        an_error("boom", release="2.4.0", properties='{"cart":"full"}'),
        an_error("boom", release="2.4.1", properties='{"cart":"full"}'),
        an_error("boom", release="2.4.1", properties='{"cart":"empty"}'),
        an_error("boom"),
        an_event("buy", properties='{"cart":"full"}'),
    )

    assert rows(service, "errors", dimensions=["release"]) == [
        {"release": None, "errors": 5},
        {"release": "2.4.1", "errors": 2},
        {"release": "2.4.0", "errors": 1},
    ]
    by_cart = {"dimensions": ["properties.cart"], "filters": [where("release", "2.4.1")]}
    assert rows(service, "errors", **by_cart) == [
        {"properties.cart": "empty", "errors": 1},
        {"properties.cart": "full", "errors": 1},
    ]
    full = [where("properties.cart", "full")]
    assert rows(service, "errors", "events", filters=full) == [{"errors": 2, "events": 1}]
