"""What every standard question can take: orders, pages, presets, batches, versions."""

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from schemas.lake.table_location import table_url
from schemas.registry import Website
from schemas.tables import CLICKS
from tests.query.lake import a_click, a_view
from tests.query.query_service import NOVEMBER, InProcessService


def views(path: str, visitors: int, each: int = 1) -> list[Any]:
    """Page views of a path by so many visitors of its own, each with a session."""
    who = [f"{path}{n}" for n in range(visitors)]
    return [a_view(path, visitor=w, session=w) for w in who for _ in range(each)]


# Orders and pages


def names(service: InProcessService, **more: Any) -> list[str]:
    return [row["name"] for row in service.rows("pages", **more)]


def test_rows_are_sorted_by_any_field_and_then_as_ever(service: InProcessService) -> None:
    service.holds(
        *views("/a", 1, each=4), *views("/b", 2), *views("/c", 1), *views("/d", 2, each=2)
    )

    assert names(service) == ["/d", "/b", "/a", "/c"]
    assert names(service, orderBy=[{"field": "pageviews"}]) == ["/d", "/a", "/b", "/c"]
    assert names(service, orderBy=[{"field": "percentage", "direction": "asc"}]) == [
        "/a",
        "/c",
        "/d",
        "/b",
    ]
    assert names(service, sortBy="name", sortOrder="asc") == ["/a", "/b", "/c", "/d"]
    assert names(service, sortBy="name", limit=2, page=2) == ["/b", "/a"]


def test_points_are_sorted_after_they_were_filled(service: InProcessService) -> None:
    service.holds(a_click(at="2026-11-02T12:00:00Z"))
    days = {"startDate": "2026-11-01", "endDate": "2026-11-03"}

    found = service.rows("link_clicks_by_day", subject="link:go", sortBy="clicks", **days)

    assert [(row["date"][-1], row["clicks"]) for row in found] == [("2", 1), ("1", 0), ("3", 0)]


def test_an_unknown_order_fails_alone(service: InProcessService) -> None:
    entry = service.query("pages", orderBy=[{"field": "visits"}]).json["data"][0]

    assert entry["error"] == "Unknown field 'visits' in 'orderBy[0]'; did you mean 'visitors'?"


@pytest.mark.parametrize(("page", "rows"), [(1, 2), (2, 1), (3, 0)])
def test_all_rows_are_counted_whatever_the_page(
    service: InProcessService, page: int, rows: int
) -> None:
    service.holds(*views("/a", 1), *views("/b", 1), *views("/c", 1))

    entry = service.query("pages", limit=2, page=page).json["data"][0]

    assert (len(entry["data"]), entry["meta"]) == (rows, {"totalRows": 3})


# Spans


def test_a_preset_ends_with_the_running_day(service: InProcessService) -> None:
    service.holds(a_click(at="2026-11-29T12:00:00Z"), a_click(at="2026-11-28T23:59:59Z"))
    body = {"parameters": ["link_clicks_by_day"], "preset": "last_7d", "timezone": "UTC"}

    entry = service.ask("POST", "/v1/query", body, link_id="go").json["data"][0]

    assert [row["date"][-2:] for row in entry["data"]] == ["24", "25", "26", "27", "28", "29", "30"]
    assert [row["clicks"] for row in entry["data"]] == [0, 0, 0, 0, 1, 1, 0]
    assert entry["meta"] == {"totalRows": 7, "partialBucket": "2026-11-30"}


@pytest.mark.parametrize(
    ("granularity", "points", "partial"),
    [
        ("weekly", {"2026-10-26": 1, "2026-11-30": 1}, "2026-11-30"),
        ("month", {"2026-11-01": 2}, "2026-11-01"),
    ],
)
def test_weeks_and_months_are_points(
    service: InProcessService, granularity: str, points: dict[str, int], partial: str
) -> None:
    service.holds(a_click(at="2026-11-01T12:00:00Z"), a_click(at="2026-11-30T00:00:00Z"))

    reply = service.query("link_clicks_by_day", subject="link:go", granularity=granularity)
    entry = reply.json["data"][0]

    assert {row["date"]: row["clicks"] for row in entry["data"] if row["clicks"]} == points
    assert entry["meta"]["partialBucket"] == partial


def test_minutes_of_a_short_span(service: InProcessService) -> None:
    service.holds(a_click(at="2026-11-10T12:01:59Z"))
    minutes = {"startDate": "2026-11-10T12:00:00Z", "endDate": "2026-11-10T12:02:59Z"}

    found = service.rows("link_clicks_by_day", subject="link:go", granularity="minute", **minutes)

    assert found == [
        {"date": "2026-11-10 12:00:00", "clicks": 0},
        {"date": "2026-11-10 12:01:00", "clicks": 1},
        {"date": "2026-11-10 12:02:00", "clicks": 0},
    ]


def test_too_many_points_fail_the_series_alone(service: InProcessService) -> None:
    series, totals = service.query("events_by_date", "summary", granularity="minute").json["data"]

    assert (series["success"], series["code"]) == (False, "VALIDATION_ERROR")
    assert "gives 43,200 data points; at most 10,000 are allowed" in series["error"]
    assert totals["success"]


# Several requests


def batch(service: InProcessService, *bodies: Any) -> Any:
    return service.ask("POST", "/v1/query", list(bodies), website_id="shop")


def test_an_array_of_requests_is_answered_one_by_one(service: InProcessService) -> None:
    service.holds(a_view("/", at="2026-11-10T12:00:00Z"), a_view("/", at="2026-11-20T12:00:00Z"))
    month = {"parameters": ["summary"], **NOVEMBER}

    reply = batch(service, month, {**month, "endDate": "2026-11-15"}, {"parameters": []}, 7)

    assert reply.status == 200
    assert (reply.json["success"], reply.json["batch"]) == (True, True)
    good, half, *bad = reply.json["results"]
    assert [each["data"][0]["data"][0]["pageviews"] for each in (good, half)] == [2, 1]
    assert good["queryId"] != half["queryId"]
    assert bad == [
        {
            "success": False,
            "error": "'parameters' must not be empty",
            "code": "VALIDATION_ERROR",
        },
        {
            "success": False,
            "error": "'body' must be an object, not an integer",
            "code": "VALIDATION_ERROR",
        },
    ]


def test_each_request_of_an_array_counts(service: InProcessService) -> None:
    month = {"parameters": ["summary"], **NOVEMBER}

    before = int(batch(service, month).headers["x-ratelimit-remaining"])
    after = int(batch(service, month, month, {}).headers["x-ratelimit-remaining"])

    assert before - after == 3


@pytest.mark.parametrize("count", [0, 26])
def test_an_array_has_1_to_25_requests(service: InProcessService, count: int) -> None:
    reply = batch(service, *[{"parameters": ["summary"], **NOVEMBER}] * count)

    assert reply.status == 400
    assert reply.json["error"] == (f"The body is an array of {count} requests; 1 to 25 are allowed")


# Versions


def clicks(service: InProcessService, **more: Any) -> Any:
    return service.query("link_total_clicks", subject="link:go", **more)


@pytest.mark.parametrize("as_number", [True, False])
def test_a_version_gives_the_same_numbers_after_late_data(
    service: InProcessService, as_number: bool
) -> None:
    service.holds(a_click())
    first = clicks(service).json
    versions = first["meta"]["versions"]
    service.holds(a_click(), a_click())

    again = clicks(service, asOf=versions["clicks"] if as_number else versions).json

    assert clicks(service).json["data"][0]["data"] == [{"total": 3}]
    assert again["data"] == first["data"]
    assert again["meta"]["versions"] == versions


def test_the_version_before_anything_was_stored_is_empty(service: InProcessService) -> None:
    service.holds(a_click())

    before = clicks(service, asOf={"clicks": -1})

    assert before.json["data"][0]["data"] == [{"total": 0}]


def test_a_version_that_is_not_there_yet_is_refused(service: InProcessService) -> None:
    service.holds(a_click())

    reply = clicks(service, asOf={"clicks": 7})

    assert (reply.status, reply.json["error"]) == (
        400,
        "'asOf' is 7 for table 'clicks', whose newest version is 1",
    )


def test_a_version_that_the_log_has_forgotten_is_refused(service: InProcessService) -> None:
    for _ in range(3):
        service.holds(a_click())
    table = DeltaTable(table_url(str(service.lake.root), CLICKS))
    table.create_checkpoint()
    for number in range(3):
        (Path(table.table_uri.removeprefix("file://")) / f"_delta_log/{number:020}.json").unlink()

    reply = clicks(service, asOf=1)

    assert (reply.status, reply.json["error"]) == (
        410,
        "Version 1 of table 'clicks' has expired; the oldest that is still available is 3",
    )
    assert clicks(service, asOf=3).json["data"][0]["data"] == [{"total": 3}]


def test_a_version_whose_files_are_gone_names_the_oldest_that_is_kept(
    service: InProcessService,
) -> None:
    service.holds(a_click())
    [gone] = service.lake.paths(CLICKS)
    table = DeltaTable(table_url(str(service.lake.root), CLICKS))
    table.delete()
    gone.unlink()

    reply = clicks(service, asOf=1)

    assert (reply.status, reply.json["code"]) == (410, "VERSION_GONE")
    assert reply.json["error"] == (
        "Version 1 of table 'clicks' has expired; the oldest that is still available is 2"
    )


# Zones and subjects that are not named


def test_days_are_those_of_the_website_when_no_zone_is_named(service: InProcessService) -> None:
    service.store.update(Website, "shop", 0, timezone="Asia/Kolkata")
    link = {"name": "any", "targetUrl": "https://target.example/"}
    assert service.ask("POST", "/v1/links", link).status == 201  # reads the registry anew

    assert service.query("summary").json["meta"]["timezone"] == "Asia/Kolkata"
    assert service.query("summary", timezone="UTC").json["meta"]["timezone"] == "UTC"
    custom = service.custom("events", [{"field": "*", "aggregate": "count"}])
    assert custom.json["meta"]["timezone"] == "Asia/Kolkata"


def test_what_names_no_website_is_asked_by_the_organization(service: InProcessService) -> None:
    service.holds(a_view("/a", website="acme"), a_view("/b", website="shop"))

    assert names(service, subject="acme") == ["/a"]
    assert service.query("pages", subject="globex").status == 403
