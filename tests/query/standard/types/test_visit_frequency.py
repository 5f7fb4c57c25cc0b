"""visit_frequency: numbers worked out by hand."""

from typing import Any

import pytest

from tests.query.lake import Stored, a_view, an_event
from tests.query.query_service import InProcessService, start_service

VISITS = (1, 1, 2, 10, 11, 15, 16, 25, 26, 50, 51, 100, 101, 140)
"""Of visitors on the 10th: 14 of them, with both ends of every range."""
LABELS = (*map(str, range(1, 11)), "11-15", "16-25", "26-50", "51-100", "101+")
ODD: tuple[Stored, ...] = (
    # one visit over three days, with an earlier event that is no page view
    an_event("opened", visitor="a", session="a1", at="2026-11-11T23:50:00Z"),
    a_view("/", visitor="a", session="a1", at="2026-11-11T23:55:00Z", country="DE"),
    a_view("/a", visitor="a", session="a1", at="2026-11-12T00:05:00Z", country="DE"),
    a_view("/b", visitor="a", session="a1", at="2026-11-13T00:00:00Z", country="DE"),
    a_view("/", visitor="a", session="a2", at="2026-11-12T12:00:00Z"),
    # a session that two visitors share is of the first one
    a_view("/", visitor="b", session="b1", at="2026-11-12T08:00:00Z"),
    a_view("/", visitor="c", session="b1", at="2026-11-12T08:01:00Z"),
    # a bot, events without a page view, page views without a session or a visitor
    a_view("/", visitor="bot", session="bot", at="2026-11-12T09:00:00Z", is_bot=True),
    an_event("paid", visitor="server", session="s1", at="2026-11-12T09:00:00Z"),
    a_view("/", visitor="e", session=None, at="2026-11-12T09:00:00Z"),
    a_view("/", visitor=None, session="f1", at="2026-11-12T09:00:00Z"),
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    running = start_service(tmp_path_factory.mktemp("service"))
    running.holds(
        *(
            a_view("/", visitor=f"u{who}", session=f"s{who}-{n}", at="2026-11-10T12:00:00Z")
            for who, visits in enumerate(VISITS)
            for n in range(visits)
        ),
        *ODD,
    )
    return running


def frequency(service: InProcessService, start: str, end: str, **body: Any) -> list[Any]:
    """The rows with visitors: label, visitors, percentage and visits."""
    rows = service.rows("visit_frequency", startDate=start, endDate=end, **body)
    assert [row["visits"] for row in rows] == [*LABELS]
    names = ("visits", "visitors", "percentage", "visits_total")
    return [tuple(row[name] for name in names) for row in rows if row["visitors"]]


def test_visitors_are_counted_by_their_visits(service: InProcessService) -> None:
    assert frequency(service, "2026-11-10", "2026-11-10") == [
        ("1", 2, 14.29, 2),
        ("2", 1, 7.14, 2),
        ("10", 1, 7.14, 10),
        ("11-15", 2, 14.29, 26),
        ("16-25", 2, 14.29, 41),
        ("26-50", 2, 14.29, 76),
        ("51-100", 2, 14.29, 151),
        ("101+", 2, 14.29, 241),
    ]


def test_every_range_has_a_row_with_its_ends(service: InProcessService) -> None:
    rows = service.rows("visit_frequency", startDate="2026-11-01", endDate="2026-11-01")

    ends = [(row["visits"], row["from_visits"], row["to_visits"]) for row in rows]
    assert ends[0] == ("1", 1, 1)
    assert ends[9:] == [
        ("10", 10, 10),
        ("11-15", 11, 15),
        ("16-25", 16, 25),
        ("26-50", 26, 50),
        ("51-100", 51, 100),
        ("101+", 101, None),
    ]
    assert rows[10] == {
        **{"visits": "11-15", "from_visits": 11, "to_visits": 15},
        **{"visitors": 0, "percentage": 0.0, "visits_total": 0},
    }


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-11-11", "2026-11-13", [("1", 1, 50.0, 1), ("2", 1, 50.0, 2)]),
        # each day has its own piece of the long visit
        ("2026-11-11", "2026-11-11", [("1", 1, 100.0, 1)]),
        ("2026-11-12", "2026-11-12", [("1", 1, 50.0, 1), ("2", 1, 50.0, 2)]),
        ("2026-11-13", "2026-11-13", [("1", 1, 100.0, 1)]),
        ("2026-11-14", "2026-11-14", []),
    ],
)
def test_a_visit_counts_once_for_the_visitor_of_its_first_page_view(
    service: InProcessService, start: str, end: str, expected: list[Any]
) -> None:
    assert frequency(service, start, end) == expected


def test_visits_add_up_to_the_sessions_of_the_summary(service: InProcessService) -> None:
    november = {"startDate": "2026-11-10", "endDate": "2026-11-13"}
    has_visitor = [{"field": "anonymous_id", "operator": "is_not_null"}]

    visits = service.rows("visit_frequency", **november)
    [summary] = service.rows("summary", **november, filters=has_visitor)

    # 549 on the 10th, two of a and one of b
    assert sum(row["visits_total"] for row in visits) == summary["sessions"] == 552


def test_filters_keep_whole_visits(service: InProcessService) -> None:
    days = ("2026-11-11", "2026-11-13")
    german = [{"field": "country", "operator": "eq", "value": "DE"}]
    by_visit = [{"field": "visit.country", "operator": "eq", "value": "DE"}]
    on_root = [{"field": "path", "operator": "eq", "value": "/"}]

    assert frequency(service, *days, filters=german) == [("1", 1, 100.0, 1)]
    assert frequency(service, *days, filters=by_visit) == [("1", 1, 100.0, 1)]
    assert frequency(service, *days, filters=on_root) == [("1", 1, 50.0, 1), ("2", 1, 50.0, 2)]


def test_bots_count_where_they_are_included(service: InProcessService) -> None:
    found = frequency(service, "2026-11-12", "2026-11-12", include_bots=True)

    assert found == [("1", 2, 66.67, 2), ("2", 1, 33.33, 2)]
