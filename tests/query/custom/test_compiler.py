"""Custom queries: properties, buckets, having, pages; what they may name, and would read."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from query.custom.tables import CUSTOM_TABLES
from query.standard.query_types import QUERY_TYPES
from tests.query.lake import a_click, a_view, an_error, an_event
from tests.query.query_service import NOVEMBER, InProcessService, start_service

COUNT = {"field": "*", "aggregate": "count", "alias": "n"}


@pytest.fixture
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


def rows(service: InProcessService, *selects: Any, table: str = "events", **query: Any) -> Any:
    reply = service.custom(table, list(selects) or [COUNT], **query)
    assert reply.status == 200, reply.json
    return reply.json["data"]


def ask(service: InProcessService, query: Any, path: str = "/v1/query/custom", **more: Any) -> Any:
    body = {"query": {"table": "events", "selects": [COUNT], **query}, **NOVEMBER, **more}
    return service.ask("POST", path, body, website_id="shop")


# Properties


def test_a_stranger_with_huge_numbers_does_not_take_the_sum_from_others(
    service: InProcessService,
) -> None:
    total = "properties.total"
    service.holds(
        *(an_event("buy", properties=f'{{"total": {n}}}') for n in (10, 20, 1e308, 1e308))
    )

    found = rows(
        service,
        {"field": total, "aggregate": "sum", "alias": "sum"},
        {"field": total, "aggregate": "avg", "alias": "avg"},
        {"field": total, "aggregate": "p75", "alias": "p75"},
        {"field": total, "aggregate": "max", "alias": "max"},
    )

    assert found == [{"sum": 30, "avg": 15, "p75": 17.5, "max": 1e308}]


def test_properties_are_grouped_and_counted_by_their_path(service: InProcessService) -> None:
    service.holds(
        an_event("buy", properties='{"plan": "pro", "cart": {"total": 10.5}}'),
        an_event("buy", properties='{"plan": "pro", "cart": {"total": 20}}'),
        an_event("buy", properties='{"plan": "pro", "cart": {"total": "30"}}'),
        an_event("buy", properties='{"plan": 7}'),
        an_event("buy"),
    )
    total = "properties.cart.total"

    found = rows(
        service,
        COUNT,
        {"field": total, "aggregate": "sum"},
        {"field": total, "aggregate": "max", "alias": "most"},
        {"field": total, "aggregate": "count", "alias": "carts"},
        {"field": total, "aggregate": "uniq", "alias": "different"},
        groupBy=["properties.plan"],
    )

    assert found == [
        {
            "properties.plan": "pro",
            "n": 3,
            "sum_properties_cart_total": 30.5,
            "most": 20.0,
            "carts": 3,
            "different": 3,
        },
        {
            "properties.plan": "7",
            "n": 1,
            "sum_properties_cart_total": None,
            "most": None,
            "carts": 0,
            "different": 0,
        },
        {
            "properties.plan": None,
            "n": 1,
            "sum_properties_cart_total": None,
            "most": None,
            "carts": 0,
            "different": 0,
        },
    ]


# Buckets of time


def test_a_bucket_of_time_is_a_group_labelled_in_the_zone(service: InProcessService) -> None:
    service.holds(
        a_view("/", at="2026-11-01T22:59:59Z"),  # the 1st in Berlin
        a_view("/", at="2026-11-01T23:00:00Z"),
        a_view("/", at="2026-11-02T12:00:00Z"),
    )
    order = [{"field": "date", "direction": "asc"}]

    body = ask(
        service, {"groupBy": ["time:daily", "path"], "orderBy": order}, timezone="Europe/Berlin"
    ).json

    assert body["data"] == [
        {"date": "2026-11-01", "path": "/", "n": 1},
        {"date": "2026-11-02", "path": "/", "n": 2},
    ]
    assert body["meta"]["partialBucket"] == "2026-11-30"
    assert rows(service, groupBy=["time:week"], orderBy=order) == [
        {"date": "2026-10-26", "n": 2},
        {"date": "2026-11-02", "n": 1},
    ]


def test_sessions_are_in_the_bucket_of_their_first_event(service: InProcessService) -> None:
    service.holds(
        a_view("/", session="s1", at="2026-11-10T12:59:00Z"),
        a_view("/", session="s1", at="2026-11-10T13:01:00Z"),
        a_view("/", session="s2", at="2026-11-10T13:02:00Z"),
    )

    found = rows(service, COUNT, table="sessions", groupBy=["time:hourly"])

    assert sorted((row["date"], row["n"]) for row in found) == [
        ("2026-11-10 12:00:00", 1),
        ("2026-11-10 13:00:00", 1),
    ]


# Having and pages


def test_having_is_about_aliases_and_pages_count_all_rows(service: InProcessService) -> None:
    service.holds(*(a_view(f"/{n}") for n in range(4) for _ in range(n)))
    having = [{"or": [{"field": "n", "op": "gte", "value": 2}]}]
    query = {"groupBy": ["path"], "having": having}

    pages = [ask(service, query, limit=1, page=page).json for page in (1, 2, 3)]

    assert [page["data"] for page in pages] == [
        [{"path": "/3", "n": 3}],
        [{"path": "/2", "n": 2}],
        [],
    ]
    assert [page["meta"]["totalRows"] for page in pages] == [2, 2, 2]


def test_an_instant_of_the_result_is_compared_as_one(service: InProcessService) -> None:
    service.holds(a_view("/a", at="2026-11-01T12:00:00Z"), a_view("/b", at="2026-11-02T12:00:00Z"))
    last = {"field": "ts", "aggregate": "max", "alias": "last"}
    having = [{"field": "last", "op": "gt", "value": "2026-11-02T00:00:00Z"}]

    assert rows(service, last, groupBy=["path"], having=having) == [
        {"path": "/b", "last": "2026-11-02T12:00:00.000Z"}
    ]


def test_a_version_can_be_asked_again(service: InProcessService) -> None:
    service.holds(a_view("/"))
    versions = ask(service, {}).json["meta"]["versions"]
    service.holds(a_view("/"))

    assert ask(service, {}, asOf=versions).json["data"] == [{"n": 1}]
    assert ask(service, {}).json["data"] == [{"n": 2}]


WRONG: list[tuple[Any, str]] = [
    ({"groupBy": ["time:yearly"]}, "Unknown time bucket 'time:yearly' in 'query.groupBy[0]'"),
    ({"groupBy": ["time:day", "time:hour"]}, "'date' names two columns of the result"),
    ({"groupBy": ["time:minute"]}, "gives 43,200 data points"),
    ({"groupBy": ["properties."]}, "'query.groupBy[0]' is 'properties.'; use a path"),
    ({"having": [{"field": "path", "op": "eq", "value": "/"}]}, "Unknown column 'path' in the"),
    ({"having": [{"field": "n", "op": "eq", "value": "1"}]}, "'query.having[0].value' must be a"),
    (
        {"having": [{"field": "n", "op": "contains", "value": "1"}]},
        "operator 'contains' applies to text columns only",
    ),
]


@pytest.mark.parametrize(("query", "message"), WRONG)
def test_an_invalid_query_names_the_invalid_field(
    service: InProcessService, query: Any, message: str
) -> None:
    reply = ask(service, query)

    assert (reply.status, message in reply.json["error"]) == (400, True), reply.json


# What it would run


def test_a_query_is_explained_without_being_run(service: InProcessService) -> None:
    service.holds(*(a_view(path, at="2026-11-10T12:00:00Z") for path in ("/", "/b")))
    service.holds(a_view("/", at="2026-10-01T12:00:00Z"))
    service.holds(a_view("/", website="rival", at="2026-11-10T12:00:00Z"))
    filters = [{"field": "path", "op": "eq", "value": "/"}]

    body = ask(service, {"filters": filters}, "/v1/query/compile").json

    assert body["success"]
    assert body["tables"] == [{"name": "events", "version": 3, "rows": 2}]
    assert body["values"] == {
        "subject": "shop",
        "start": "2026-11-01T00:00:00.000Z",
        "end": "2026-12-01T00:00:00.000Z",
        "f0_0": "/",
        "limit": 1000,
        "offset": 0,
    }
    assert all(f"${name}" in body["sql"] for name in body["values"])
    assert str(service.data) not in str(body)


def test_an_explanation_tells_nothing_of_the_rows_of_others(service: InProcessService) -> None:
    service.holds(a_view("/"))
    alone = ask(service, {}, "/v1/query/compile").json

    service.holds(*(a_view(f"/{n}", website="rival") for n in range(50)))
    beside = ask(service, {}, "/v1/query/compile").json

    [before], [after] = alone.pop("tables"), beside.pop("tables")
    assert alone == beside
    assert {**before, "version": None} == {**after, "version": None}


def test_what_cannot_be_asked_cannot_be_explained(service: InProcessService) -> None:
    reply = ask(service, {"table": "event"}, "/v1/query/compile")

    assert (reply.status, reply.json["code"]) == (400, "VALIDATION_ERROR")


# What there is


def test_every_table_is_listed_with_what_its_columns_take(service: InProcessService) -> None:
    body = service.ask("GET", "/v1/query/tables", key=None).json
    tables = {table["name"]: table for table in body["tables"]}

    assert list(tables) == list(CUSTOM_TABLES)
    assert tables["events"]["properties"] == "properties.<path>"
    assert tables["errors"]["properties"] is None
    assert tables["clicks"]["subjects"] == ["website_id", "link_id"]
    [lineno] = [c for c in tables["errors"]["columns"] if c["name"] == "lineno"]
    assert lineno == {
        "name": "lineno",
        "type": "integer",
        "meaning": "line in it",
        "scope": "row",
        "aliasOf": None,
        "groupBy": True,
        "operators": [
            "eq",
            "ne",
            "gt",
            "gte",
            "lt",
            "lte",
            "in",
            "not_in",
            "is_null",
            "is_not_null",
        ],
        "aggregates": [
            *("count", "uniq", "sum", "avg", "min", "max"),
            *("median", "p75", "p90", "p95", "p99"),
        ],
    }


def test_whatever_is_listed_can_be_asked(service: InProcessService) -> None:
    service.holds(a_view("/"), an_error(), a_click())

    for table in service.ask("GET", "/v1/query/tables", key=None).json["tables"]:
        for column in table["columns"]:
            selects = [
                {"field": column["name"], "aggregate": aggregate}
                for aggregate in column["aggregates"]
            ]
            assert rows(service, *selects, table=table["name"]), column


def test_types_are_listed_with_what_they_take(service: InProcessService) -> None:
    plain = service.ask("GET", "/v1/query/types", key=None).json
    body = service.ask("GET", "/v1/query/types", key=None, include_meta="true").json

    assert plain["types"] == body["types"] == list(QUERY_TYPES)
    assert "configs" not in plain
    assert list(body["configs"]) == list(QUERY_TYPES)
    clicks = body["configs"]["link_clicks_by_day"]
    assert clicks["columns"] == [
        {"name": "date", "type": "date", "unit": "date"},
        {"name": "clicks", "type": "integer", "unit": None},
    ]
    assert clicks["granularity"] == ["minute", "hourly", "daily", "weekly", "monthly"]
    assert clicks["defaultLimit"] is None
    assert body["presets"][:2] == ["today", "yesterday"]
    assert msgspec.json.encode(body)


def test_a_wrong_flag_is_refused(service: InProcessService) -> None:
    assert service.ask("GET", "/v1/query/types", key=None, include_meta="yes").status == 400
