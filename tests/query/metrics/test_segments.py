"""Segments side by side: the rows of each are those of a query with its filters."""

from pathlib import Path
from typing import Any

import pytest

from tests.query.metrics_queries import ask, error, rows, save, three_visits
from tests.query.query_service import InProcessService, reused, start_service

METRICS = ("visitors", "visits", "page_views", "bounce_rate")


@reused
def service(tmp_path: Path) -> InProcessService:
    """The three visits, and segments of who came by search, who came directly, and who bought."""
    service = start_service(tmp_path)
    service.holds(*three_visits())
    search = {"field": "visit.channel", "operator": "eq", "value": "Organic Search"}
    direct = {"field": "visit.channel", "operator": "eq", "value": "Direct"}
    save(service, "segments", name="Search", filters=[search])
    save(service, "segments", name="Direct", filters=[direct])
    save(service, "segments", name="Buyers", filters=[{"has_done": {"event": "purchase"}}])
    save(service, "segments", website="blog", name="Of others", filters=[search])
    return service


def test_each_segment_has_its_rows(service: InProcessService) -> None:
    assert rows(service, "visitors", "page_views", segments=["Search", "Direct", None]) == [
        {"segment": None, "visitors": 3, "page_views": 4},
        {"segment": "Direct", "visitors": 2, "page_views": 2},
        {"segment": "Search", "visitors": 1, "page_views": 2},
    ]


def test_a_visitor_can_be_in_several_segments(service: InProcessService) -> None:
    result = rows(
        service, "page_views", segments=["Search", "Buyers"], dimensions=["path"],
        orderBy=[{"field": "path", "direction": "asc"}, {"field": "segment", "direction": "desc"}],
    )  # fmt: skip

    assert result == [
        {"path": "/", "segment": "Search", "page_views": 1},
        {"path": "/", "segment": "Buyers", "page_views": 1},
        {"path": "/pricing", "segment": "Search", "page_views": 1},
        {"path": "/pricing", "segment": "Buyers", "page_views": 1},
    ]


@pytest.mark.parametrize(
    "dimensions",
    [[], ["path"], ["time:hour"], ["visit.channel", "time:day"], ["visitor.first_seen:day"]],
)
@pytest.mark.parametrize("having", [[], [{"field": "page_views", "operator": "gte", "value": 2}]])
def test_the_rows_of_a_segment_are_those_of_a_query_with_its_filters(
    service: InProcessService, dimensions: list[str], having: list[Any]
) -> None:
    more: dict[str, Any] = {"dimensions": dimensions, "having": having}
    path = {"field": "path", "operator": "contains", "value": "/"}
    result = rows(service, *METRICS, segments=["Direct", "Buyers"], filters=[path], **more)

    for name in ("Direct", "Buyers"):
        expected = rows(service, *METRICS, filters=[path, {"segment": name}], **more)
        of_segment = [{k: v for k, v in row.items() if k != "segment"}
                      for row in result if row["segment"] == name]  # fmt: skip
        if dimensions == ["time:hour"] and not having:
            expected = [row for row in expected if row["page_views"]]  # which has every bucket
        assert sorted(map(str, of_segment)) == sorted(map(str, expected))


def test_pages_of_rows_count_those_of_all_segments(service: InProcessService) -> None:
    reply = ask(service, "page_views", segments=["Search", "Direct", None], limit=2, page=2)

    assert reply.json["data"] == [{"segment": "Search", "page_views": 2}]
    assert reply.json["meta"]["totalRows"] == 3


def test_segments_are_compared_with_the_days_before(service: InProcessService) -> None:
    reply = ask(
        service, "visitors", segments=["Search", "Direct"], compare="previous_period",
        startDate="2026-11-10", endDate="2026-11-10",
    )  # fmt: skip

    compared = [
        (row["segment"], other["previous"]["visitors"], other["change"]["visitors"])
        for row, other in zip(reply.json["data"], reply.json["comparison"]["rows"], strict=True)
    ]
    assert compared == [("Direct", 0, 2), ("Search", 0, 1)]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"segments": ["Serch"]}, "did you mean 'Search'?"),
        ({"segments": ["Of others"]}, "Unknown segment 'Of others' in 'segments[0]'"),
        ({"segments": ["Direct", "Direct"]}, "'segments[1]' is 'Direct' again"),
        ({"segments": [None, None]}, "'segments[1]' is null again"),
        ({"segments": ["Direct"] * 6}, "at most 5 elements"),
        ({"segments": ["Direct"], "dimensions": ["segment"]}, "'segments'"),
    ],
)
def test_what_is_wrong_is_named(
    service: InProcessService, more: dict[str, Any], message: str
) -> None:
    assert message in error(service, "visitors", **more)


def test_a_metric_cannot_have_the_name_of_the_dimension(service: InProcessService) -> None:
    metric = {"metric": "conversions", "goal": "Buyers", "as": "segment"}
    save(service, "goals", name="Buyers", event="purchase")

    assert "names a dimension and a metric" in error(service, metric, segments=["Direct"])
