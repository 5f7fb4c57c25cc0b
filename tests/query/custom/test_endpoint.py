"""POST /v1/query/custom: whole responses, order and limit."""

from tests.query.custom_queries import COUNT, rows
from tests.query.lake import (
    a_click,
    a_view,
)
from tests.query.metrics_queries import save
from tests.query.query_service import NOVEMBER, InProcessService


def test_an_answer_has_rows_and_meta(service: InProcessService) -> None:
    service.holds(
        a_view("/a"), a_view("/a", visitor="u2"), a_view("/b"), a_view("/c", website="blog")
    )

    body = service.custom(
        "events",
        [
            {"field": "*", "aggregate": "count"},
            {"field": "anonymous_id", "aggregate": "uniq", "alias": "visitors"},
        ],
        groupBy=["path"],
        filters=[{"field": "name", "operator": "eq", "value": "screen_view"}],
    ).json
    spent = body["meta"].pop("executionTime")

    assert isinstance(spent, int)
    assert body == {
        "success": True,
        "data": [
            {"path": "/a", "count_all": 2, "visitors": 2},
            {"path": "/b", "count_all": 1, "visitors": 1},
        ],
        "meta": {
            "rowCount": 2,
            "totalRows": 2,
            "page": 1,
            "limit": 1000,
            "timezone": "UTC",
            "watermark": None,
            "lagSeconds": None,
            "staleReason": "Kafka has not answered yet: how much of it is stored is not known",
            "versions": {"events": 1},
        },
    }


def test_rows_are_ordered_by_the_first_alias_then_by_the_groups(service: InProcessService) -> None:
    service.holds(a_view("/b"), a_view("/a"), a_view("/c"), a_view("/c"), a_view(None))

    found = rows(service, "events", groupBy=["path"])

    assert [(row["path"], row["n"]) for row in found] == [
        ("/c", 2),
        ("/a", 1),
        ("/b", 1),
        (None, 1),
    ]


def test_the_order_can_be_chosen(service: InProcessService) -> None:
    service.holds(a_view("/b"), a_view("/a"), a_view("/a"))

    found = rows(
        service, "events", groupBy=["path"], orderBy=[{"field": "path", "direction": "desc"}]
    )

    assert [row["path"] for row in found] == ["/b", "/a"]


def test_clicks_of_one_link_are_asked_by_the_link(service: InProcessService) -> None:
    service.holds(a_click(referrer_name="X"), a_click(link="other"))
    body = {"query": {"table": "clicks", "selects": [COUNT], "groupBy": ["referrer_name"]}}

    found = service.ask("POST", "/v1/query/custom", {**body, **NOVEMBER}, link_id="go").json

    assert found["data"] == [{"referrer_name": "X", "n": 1}]


def test_the_limit_cuts_the_rows(service: InProcessService) -> None:
    service.holds(*(a_view(f"/{n}") for n in range(5)))
    body = {"query": {"table": "events", "selects": [COUNT], "groupBy": ["path"]}, **NOVEMBER}

    found = service.ask("POST", "/v1/query/custom", {**body, "limit": 2}, website_id="shop").json

    assert [row["path"] for row in found["data"]] == ["/0", "/1"]
    assert found["meta"]["rowCount"] == 2


def test_a_result_by_time_shows_the_annotations_of_the_website(service: InProcessService) -> None:
    save(service, "annotations", start="2026-11-05", text="Autumn campaign")
    save(service, "annotations", website="blog", start="2026-11-05", text="Another website")

    by_day = service.custom("events", [COUNT], groupBy=["time:daily"]).json["meta"]
    by_page = service.custom("events", [COUNT], groupBy=["path"]).json["meta"]

    assert [each["text"] for each in by_day["annotations"]] == ["Autumn campaign"]
    assert "annotations" not in by_page
