"""imported_totals and imported_totals_by_date: worked out by hand."""

from typing import Any

import pytest

from tests.query.imported_rows import OWN, PAGES, WHOLE
from tests.query.lake import imported
from tests.query.query_service import InProcessService

NAMES = (
    *("product", "daily_visitors", "pageviews", "sessions", "bounce_rate"),
    *("avg_session_duration", "pages_per_session", "custom_events"),
)


def rows_of(service: InProcessService, name: str, first: str, **options: Any) -> list[Any]:
    """The values of each row, after checking the names of the fields."""
    more = {key: options.pop(key) for key in ("timezone", "startDate") if key in options}
    rows = service.rows({"name": name, **options}, **more)
    assert all(tuple(row) == (first, *NAMES) for row in rows)
    return [tuple(row.values()) for row in rows]


def test_days_are_a_series(service: InProcessService) -> None:
    service.holds(*WHOLE, *PAGES, *OWN)

    assert rows_of(service, "imported_totals_by_date", "date") == [
        # 6 of 12 visits; 1200 s by 12; 30 page views by 12
        ("2026-11-01", "Plausible", 10, 30, 12, 50.0, 100.0, 2.5, None),
        ("2026-11-02", "Plausible", 20, 50, 28, 50.0, None, 1.79, 4),
        # on this day the website has an event itself
        ("2026-11-04", "Plausible", 7, 7, 7, 100.0, 10.0, 1.0, None),
    ]


def test_a_month_has_what_its_days_add_up_to(service: InProcessService) -> None:
    service.holds(*WHOLE, *OWN)

    assert rows_of(service, "imported_totals_by_date", "date", period="month") == [
        # 27 of 47; 1270 s by the 19 visits of two days; 87 by 47
        ("2026-11-01", "Plausible", 37, 87, 47, 57.45, 66.84, 1.85, 4),
    ]
    weeks = rows_of(service, "imported_totals_by_date", "date", period="week")
    assert [week[:3] for week in weeks] == [
        ("2026-10-26", "Plausible", 10),  # the 1st is a Sunday
        ("2026-11-02", "Plausible", 27),
    ]


def test_totals_are_split_by_one_dimension(service: InProcessService) -> None:
    service.holds(*WHOLE, *PAGES, *OWN)

    assert rows_of(service, "imported_totals", "name", dimension="path") == [
        ("/", "Plausible", 30, 67, None, None, None, None, None),
        ("/pricing", "Plausible", 9, 10, None, None, None, None, None),
    ]
    assert rows_of(service, "imported_totals", "name") == [
        ("", "Plausible", 37, 87, 47, 57.45, 66.84, 1.85, 4),
    ]
    assert rows_of(service, "imported_totals", "name", dimension="city") == []


def test_several_imports_add_up_and_are_all_named(service: InProcessService) -> None:
    service.holds(WHOLE[0], imported("2026-11-01", visitors=5, page_views=3, product="Fathom"))

    assert rows_of(service, "imported_totals_by_date", "date") == [
        # page views by visits: 30 by 12, as Fathom has no visits
        ("2026-11-01", "Fathom, Plausible", 15, 33, 12, 50.0, 100.0, 2.5, None),
    ]


def test_a_day_that_is_cut_is_not_counted(service: InProcessService) -> None:
    service.holds(*WHOLE)

    rows = rows_of(service, "imported_totals_by_date", "date", startDate="2026-11-01T06:00:00Z")
    assert [row[0] for row in rows] == ["2026-11-02", "2026-11-04"]


def test_totals_of_other_websites_are_never_read(service: InProcessService) -> None:
    service.holds(WHOLE[0], imported("2026-11-01", visitors=1000, website="rival"))
    service.holds(imported("2026-11-02", visitors=1000, website="blog"))

    assert [row[:3] for row in rows_of(service, "imported_totals_by_date", "date")] == [
        ("2026-11-01", "Plausible", 10)
    ]
    reply = service.query("imported_totals", subject="rival")
    assert (reply.status, reply.json["code"]) == (403, "ACCESS_DENIED")


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        (
            {"name": "imported_totals", "filters": [{"field": "country", "op": "eq", "value": 1}]},
            "table 'imported_totals'",
        ),
        ({"name": "imported_totals", "dimension": "pathh"}, "dimension"),
        ({"name": "imported_totals_by_date", "granularity": "hourly"}, "see its options"),
    ],
)
def test_what_totals_cannot_answer_is_refused_by_name(
    service: InProcessService, parameter: object, message: str
) -> None:
    entry = service.query(parameter).json["data"][0]

    assert not entry["success"]
    assert message in entry["error"]
