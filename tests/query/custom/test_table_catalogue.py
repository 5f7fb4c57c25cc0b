"""The catalogue: every table and type with what it takes."""

import msgspec

from query.custom.tables import CUSTOM_TABLES
from query.standard.query_types import QUERY_TYPES
from tests.query.custom.custom_requests import rows
from tests.query.lake import a_click, a_view, an_error
from tests.query.query_service import InProcessService


def test_every_table_is_listed_with_what_its_columns_take(service: InProcessService) -> None:
    body = service.ask("GET", "/v1/query/tables", key=None).json
    tables = {table["name"]: table for table in body["tables"]}

    assert list(tables) == list(CUSTOM_TABLES)
    assert tables["events"]["properties"] == "properties.<path>"
    assert tables["errors"]["properties"] == "properties.<path>"
    assert tables["vitals"]["properties"] is None
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
        selects = [
            {"field": column["name"], "aggregate": aggregate}
            for column in table["columns"]
            for aggregate in column["aggregates"]
        ]
        for first in range(0, len(selects), 20):
            some = selects[first : first + 20]
            assert rows(service, *some, table=table["name"]), some


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
    assert clicks["granularity"] == [
        "minute", "quarter_hour", "hourly", "daily", "weekly", "sunday_week", "monthly",
        "quarterly", "yearly",
    ]  # fmt: skip
    assert clicks["defaultLimit"] is None
    assert body["presets"][:2] == ["today", "yesterday"]
    assert msgspec.json.encode(body)


def test_a_wrong_flag_is_refused(service: InProcessService) -> None:
    assert service.ask("GET", "/v1/query/types", key=None, include_meta="yes").status == 400
