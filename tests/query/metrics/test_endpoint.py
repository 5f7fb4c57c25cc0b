"""POST /v1/query/metrics: whole responses, order, pages, formats, tenants."""

from pathlib import Path
from typing import Any

import pytest

from query.metrics.fields import FIELDS
from query.metrics.metrics import BY_NAME
from tests.query.lake import a_view
from tests.query.metrics_queries import ask, rows, save, three_visits, where
from tests.query.query_service import NOVEMBER, InProcessService, reused, start_service


@reused
def service(tmp_path: Path) -> InProcessService:
    service = start_service(tmp_path)
    service.holds(*three_visits())
    return service


def test_a_response_has_rows_and_meta(service: InProcessService) -> None:
    reply = ask(
        service, "visits", dimensions=["visit.channel", "time:day"], limit=1, definitions=True
    )

    assert reply.json == {
        "success": True,
        "data": [{"visit.channel": "Direct", "time:day": "2026-11-10", "visits": 2}],
        "meta": {
            "rowCount": 1,
            "totalRows": 2,
            "page": 1,
            "limit": 1,
            "timezone": "UTC",
            "watermark": None,
            "lagSeconds": None,
            "staleReason": "Kafka has not answered yet: how much of it is stored is not known",
            "versions": {"events": 1},
            "partialBucket": "2026-11-30",
            "definitions": {
                "visit.channel": FIELDS["visit.channel"].description,
                "time:day": "day",
                "visits": BY_NAME["visits"].description,
            },
        },
    }


def test_the_order_is_the_first_metric_then_the_dimensions(service: InProcessService) -> None:
    service.holds(
        a_view("/b", visitor="u8", session="s8"), a_view(None, visitor="u9", session="s9")
    )

    found = rows(service, "visits", dimensions=["path"])

    assert [(row["path"], row["visits"]) for row in found] == [
        ("/", 2),
        ("/pricing", 2),
        ("/b", 1),
        (None, 1),
    ]


def test_order_pages_and_having(service: InProcessService) -> None:
    asked: Any = {
        "dimensions": ["path"],
        "orderBy": [{"field": "path", "direction": "desc"}],
        "having": [where("bounce_rate", 50, "gte")],
    }

    assert rows(service, "bounce_rate", **asked, limit=1, page=2) == [
        {"path": "/", "bounce_rate": 50.0}
    ]
    assert rows(service, "bounce_rate", **asked, page=2) == []
    assert ask(service, "bounce_rate", **asked, page=2).json["meta"]["totalRows"] == 2


def test_having_compares_the_shown_value(service: InProcessService) -> None:
    assert rows(service, "bounce_rate", having=[where("bounce_rate", 66.67)]) == [
        {"bounce_rate": 66.67}
    ]


def test_a_series_is_complete_and_can_be_ordered(service: InProcessService) -> None:
    days = rows(service, "visits", dimensions=["time:day"])
    busiest = rows(
        service, "visits", dimensions=["time:day"], orderBy=[{"field": "visits"}], limit=2
    )

    assert [row["time:day"] for row in days] == [f"2026-11-{day:02}" for day in range(1, 31)]
    assert busiest == [
        {"time:day": "2026-11-10", "visits": 3},
        {"time:day": "2026-11-01", "visits": 0},
    ]


def test_a_file_has_the_names_of_the_request(service: InProcessService) -> None:
    body = {"metrics": ["visits", "bounce_rate"], "dimensions": ["visit.channel"], **NOVEMBER}

    reply = service.ask("POST", "/v1/query/metrics", body, website_id="shop", format="csv")

    assert reply.body.decode().splitlines() == [
        "visit.channel,visits,bounce_rate",
        "Direct,2,100.0",
        "Organic Search,1,0.0",
    ]


def test_versions_can_be_pinned(service: InProcessService) -> None:
    service.holds(a_view(visitor="u9", session="s9"))

    assert rows(service, "visits") == [{"visits": 4}]
    assert rows(service, "visits", asOf={"events": 1}) == [{"visits": 3}]


def test_no_row_of_another_tenant_is_seen(service: InProcessService) -> None:
    # the same visitor and session ids, in another website and in another organization
    service.holds(
        a_view("/rival", visitor="u1", session="s1", website="rival", channel="Email"),
        a_view("/blog", visitor="u1", session="s1", website="blog", channel="Email"),
    )

    assert rows(service, "visitors", "visits", "views_per_visit") == [
        {"visitors": 3, "visits": 3, "views_per_visit": 1.33}
    ]
    assert rows(service, "visits", dimensions=["visit.channel", "visit.exit_page"])[0] == {
        "visit.channel": "Direct",
        "visit.exit_page": "/",
        "visits": 1,
    }
    assert ask(service, "visits", website="rival").status == 403


def test_bots_count_when_asked_for(service: InProcessService) -> None:
    service.holds(a_view("/bot", visitor="b", session="b", is_bot=True))

    assert rows(service, "visits") == [{"visits": 3}]
    assert rows(service, "visits", include_bots=True) == [{"visits": 4}]


def test_a_link_has_no_metrics(service: InProcessService) -> None:
    body = {"metrics": ["visits"], **NOVEMBER}

    reply = service.ask("POST", "/v1/query/metrics", body, link_id="go")

    assert reply.status == 400
    assert reply.json["error"] == (
        "Unknown parameter 'link_id' in the query string; known are website_id, timezone, "
        "prepared, format, formulas, bom"
    )


def test_a_metric_with_the_name_of_a_dimension_is_refused(service: InProcessService) -> None:
    term = {"metric": "sum", "property": "properties.total", "as": "path"}

    reply = ask(service, term, "events", dimensions=["path"])

    assert reply.status == 400
    assert "'path' names a dimension and a metric" in reply.json["error"]


def test_a_version_of_a_table_that_does_not_exist_is_refused(service: InProcessService) -> None:
    reply = ask(service, "visits", asOf={"event": 1})

    assert reply.status == 400
    assert "unknown table 'event'; tables are events" in reply.json["error"]


@pytest.mark.parametrize(
    ("as_of", "said"),
    [
        (-1, "'asOf' is -1; give a version from 0, or an object with the version of each table"),
        ({}, "'asOf' is empty; name a table in it, such as {'events': 7}, or leave it out"),
        (9_999, "'asOf' is 9999 for table 'events', whose newest version is"),
    ],
)
def test_versions_that_cannot_be_meant_are_refused(
    service: InProcessService, as_of: Any, said: str
) -> None:
    reply = ask(service, "visits", asOf=as_of)

    assert reply.status == 400
    assert reply.json["error"].startswith(said)


def test_results_by_time_show_the_annotations_of_the_website(service: InProcessService) -> None:
    save(service, "annotations", start="2026-11-05", text="Autumn campaign")
    save(service, "annotations", start="2026-10-05", text="Before")
    save(service, "annotations", website="blog", start="2026-11-05", text="Another website")

    found = ask(service, "visits", dimensions=["path", "time:week"]).json["meta"]["annotations"]

    assert [each["text"] for each in found] == ["Autumn campaign"]
    for dimensions in ([], ["time:hour_of_day"]):
        assert "annotations" not in ask(service, "visits", dimensions=dimensions).json["meta"]
