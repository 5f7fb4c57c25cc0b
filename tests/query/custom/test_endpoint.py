"""POST /v1/query/custom: whole answers, and every way to be refused."""

from pathlib import Path
from typing import Any

import pytest

from query.custom.aggregates import AGGREGATES
from query.custom.tables import CUSTOM_TABLES
from query.request.operators import OPERATORS
from tests.query.lake import (
    Stored,
    a_click,
    a_view,
    a_vital,
    an_engagement,
    an_error,
    an_event,
    an_identity,
    an_outbound_click,
)
from tests.query.query_service import NOVEMBER, InProcessService, start_service

COUNT = {"field": "*", "aggregate": "count", "alias": "n"}


@pytest.fixture
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


def rows(service: InProcessService, table: str, *selects: object, **query: Any) -> Any:
    reply = service.custom(table, selects or [COUNT], **query)
    assert reply.status == 200, reply.json
    return reply.json["data"]


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
            "watermark": "2026-11-10T12:00:00.250Z",
            "lagSeconds": 1687999.8,
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


def test_an_order_of_ones_own_may_be_asked(service: InProcessService) -> None:
    service.holds(a_view("/b"), a_view("/a"), a_view("/a"))

    found = rows(
        service, "events", groupBy=["path"], orderBy=[{"field": "path", "direction": "desc"}]
    )

    assert [row["path"] for row in found] == ["/b", "/a"]


MEASURED = [a_vital("LCP", value) for value in (100, 200, 300, 1000.5)]


@pytest.mark.parametrize(
    ("aggregate", "value"),
    [
        ("count", 4),
        ("uniq", 4),
        ("sum", 1600.5),
        ("avg", 400.125),
        ("min", 100),
        ("max", 1000.5),
        ("median", 250),
        ("p75", 475.125),  # 300 + 0.25 x 700.5
        ("p90", 790.35),  # 300 + 0.7 x 700.5
        ("p95", 895.425),  # 300 + 0.85 x 700.5
        ("p99", 979.485),  # 300 + 0.97 x 700.5
    ],
)
def test_every_aggregate_gives_the_number_worked_out(
    service: InProcessService, aggregate: str, value: float
) -> None:
    service.holds(*MEASURED)
    select = {"field": "metric_value", "aggregate": aggregate, "alias": "x"}

    assert rows(service, "vitals", select) == [{"x": value}]


def test_no_aggregate_is_left_without_a_number_worked_out() -> None:
    marks = test_every_aggregate_gives_the_number_worked_out.pytestmark  # type: ignore[attr-defined]

    assert {case[0] for case in marks[0].args[1]} == {a.name for a in AGGREGATES}


FILTERED = [
    a_view("/a", country="DE", visitor="u1"),
    a_view("/ab", country="FR", visitor="u2"),
    a_view("/b_", visitor="u3"),
]


@pytest.mark.parametrize(
    ("field", "operator", "value", "visitors"),
    [
        ("country", "eq", "DE", ["u1"]),
        ("country", "ne", "DE", ["u2", "u3"]),
        ("country", "gt", "DE", ["u2"]),
        ("country", "gte", "DE", ["u1", "u2"]),
        ("country", "lt", "FR", ["u1"]),
        ("country", "lte", "FR", ["u1", "u2"]),
        ("country", "in", ["DE", "FR"], ["u1", "u2"]),
        ("country", "not_in", ["DE", "US"], ["u2", "u3"]),
        ("path", "contains", "b", ["u2", "u3"]),
        ("path", "not_contains", "b", ["u1"]),
        ("country", "not_contains", "D", ["u2", "u3"]),
        ("path", "starts_with", "/a", ["u1", "u2"]),
        ("path", "ends_with", "_", ["u3"]),
        ("path", "contains", "%", []),
        ("country", "is_null", None, ["u3"]),
        ("country", "is_not_null", None, ["u1", "u2"]),
        ("ts", "gte", "2026-11-10T12:00:00Z", ["u1", "u2", "u3"]),
        ("ts", "lt", 1_794_312_000_000, []),  # the same instant
        ("is_bot", "eq", False, ["u1", "u2", "u3"]),
    ],
)
def test_every_operator_keeps_the_rows_it_should(
    service: InProcessService, field: str, operator: str, value: object, visitors: list[str]
) -> None:
    service.holds(*FILTERED)
    condition = {"field": field, "operator": operator, "value": value}

    found = rows(service, "events", groupBy=["anonymous_id"], filters=[condition])

    assert [row["anonymous_id"] for row in found] == visitors


def test_no_operator_is_left_untested() -> None:
    marks = test_every_operator_keeps_the_rows_it_should.pytestmark  # type: ignore[attr-defined]

    assert {case[1] for case in marks[0].args[1]} == {operator.name for operator in OPERATORS}


# The tables


def test_sessions_are_computed_from_their_events(service: InProcessService) -> None:
    service.holds(
        an_event("hello", visitor="u1", session="s1", at="2026-11-10T11:59:58Z", country="DE"),
        a_view("/in", visitor="u1", session="s1", at="2026-11-10T12:00:00Z", country="FR"),
        a_view("/out", visitor="u1", session="s1", at="2026-11-10T12:01:00.500Z"),
        an_event("signup", visitor="u1", session="s1", at="2026-11-10T12:02:00Z", path="/x"),
        a_view("/in", visitor="u2", session="s2", at="2026-11-10T13:00:00Z"),
        an_event("signup", visitor="u3", session="s3"),
    )
    columns = [
        "session_id",
        "entry_path",
        "exit_path",
        "country",
        "is_bounce",
    ]
    selects = [
        {"field": "duration", "aggregate": "sum", "alias": "duration"},
        {"field": "page_views", "aggregate": "sum", "alias": "page_views"},
        {"field": "events", "aggregate": "sum", "alias": "events"},
        {"field": "started_at", "aggregate": "min", "alias": "started_at"},
        {"field": "ended_at", "aggregate": "max", "alias": "ended_at"},
    ]

    assert rows(service, "sessions", *selects, groupBy=columns) == [
        {
            "session_id": "s1",
            "entry_path": "/in",
            "exit_path": "/out",
            "country": "FR",
            "is_bounce": False,
            "duration": 122.0,
            "page_views": 2,
            "events": 4,
            "started_at": "2026-11-10T11:59:58.000Z",
            "ended_at": "2026-11-10T12:02:00.000Z",
        },
        {
            "session_id": "s2",
            "entry_path": "/in",
            "exit_path": "/in",
            "country": None,
            "is_bounce": True,
            "duration": 0.0,
            "page_views": 1,
            "events": 1,
            "started_at": "2026-11-10T13:00:00.000Z",
            "ended_at": "2026-11-10T13:00:00.000Z",
        },
    ]


def test_sessions_agree_with_the_summary(service: InProcessService) -> None:
    service.holds(
        a_view("/", session="s1"), a_view("/", session="s2"), an_event("signup", session="s2")
    )
    bounced = [{"field": "is_bounce", "operator": "eq", "value": True}]

    assert rows(service, "sessions") == [{"n": 2}]
    assert rows(service, "sessions", filters=bounced) == [{"n": 1}]
    assert service.rows("summary")[0]["bounce_rate"] == 50.0


def test_each_table_answers_with_its_own_rows(service: InProcessService) -> None:
    service.holds(
        a_view("/", visitor="u1"),
        an_outbound_click("https://x.example/p", "Docs"),
        an_error("boom"),
        a_vital("LCP", 1200.5),
        a_click(),
        a_click(link="away", organization="globex"),
        an_engagement("/"),
        an_engagement("/", website="blog"),
        an_identity("p1"),
    )

    assert {name: rows(service, name) for name in CUSTOM_TABLES} == {
        "events": [{"n": 2}],
        "sessions": [{"n": 1}],
        "errors": [{"n": 1}],
        "vitals": [{"n": 1}],
        "clicks": [{"n": 1}],
        "engagement": [{"n": 1}],
        "identities": [{"n": 1}],
        "outbound": [{"n": 1}],
    }
    assert rows(service, "outbound", groupBy=["domain", "text", "href"]) == [
        {"domain": "x.example", "text": "Docs", "href": "https://x.example/p", "n": 1}
    ]
    assert rows(service, "errors", groupBy=["message", "level", "path"]) == [
        {"message": "boom", "level": "error", "path": "/", "n": 1}
    ]


@pytest.mark.parametrize("table", CUSTOM_TABLES)
def test_every_column_may_be_grouped_filtered_and_counted(
    service: InProcessService, table: str
) -> None:
    everything: list[Stored] = [a_view("/"), an_outbound_click("https://x.example/p"), an_error()]
    service.holds(*everything, a_vital("LCP", 1), a_click(), an_engagement(), an_identity("p1"))

    for column in CUSTOM_TABLES[table].columns:
        select = {"field": column.name, "aggregate": "uniq", "alias": "different"}
        there = {"field": column.name, "operator": "is_not_null"}
        grouped = rows(service, table, COUNT, select, groupBy=[column.name])
        filtered = rows(service, table, COUNT, select, filters=[there])
        assert list(grouped[0]) == [column.name, "n", "different"]
        assert filtered[0]["different"] == len(
            [row for row in grouped if row[column.name] is not None]
        )


def test_clicks_of_one_link_are_asked_by_the_link(service: InProcessService) -> None:
    service.holds(a_click(referrer_name="X"), a_click(link="other"))
    body = {"query": {"table": "clicks", "selects": [COUNT], "groupBy": ["referrer_name"]}}

    found = service.ask("POST", "/v1/query/custom", {**body, **NOVEMBER}, link_id="go").json

    assert found["data"] == [{"referrer_name": "X", "n": 1}]


# Refusals

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"table": "event"}, "Unknown table 'event'; did you mean 'events'?"),
    ({"groupBy": ["contry"]}, "Unknown column 'contry' in table 'events'; did you mean 'country'?"),
    ({"groupBy": ["website_id"]}, "Unknown column 'website_id' in table 'events'"),
    ({"groupBy": ["visitor_hash"]}, "Unknown column 'visitor_hash' in table 'events'"),
    ({"groupBy": ["path"] * 2}, "'path' names two columns of the result"),
    ({"groupBy": list("abcdef")}, "'query.groupBy' must have at most 5 elements"),
    ({"selects": []}, "'query.selects' must not be empty"),
    ({"selects": [COUNT] * 21}, "'query.selects' must have at most 20 elements"),
    ({"selects": [COUNT, COUNT]}, "'n' names two columns of the result"),
    ({"selects": [{"field": "*", "aggregate": "cuont"}]}, "did you mean 'count'?"),
    ({"selects": [{"field": "*", "aggregate": "sum"}]}, "only 'count' takes '*'"),
    ({"selects": [{"field": "path", "aggregate": "avg"}]}, "'avg' does not fit column 'path'"),
    ({"selects": [{"field": "path", "aggregate": "max"}]}, "'max' does not fit column 'path'"),
    ({"selects": [{**COUNT, "alias": "a b"}]}, "'query.selects[0].alias' must start with"),
    ({"selects": [{**COUNT, "alias": "n\n"}]}, "'query.selects[0].alias' must start with"),
    (
        {"selects": [{**COUNT, "alias": "x" * 64}]},
        "'query.selects[0].alias' must start with",
    ),
    ({"orderBy": [{"field": "m"}]}, "Unknown field 'm' in 'query.orderBy[0]'"),
    ({"filters": [{"field": "path"}]}, "'query.filters[0].operator' is missing"),
    ({"filters": [{"field": "path", "op": "like", "value": "a"}]}, "Unknown operator 'like'"),
    ({"filters": [{"field": "path", "op": "eq"}]}, "'query.filters[0].value' is missing"),
    ({"filters": [{"field": "path", "op": "eq", "value": None}]}, "use is_null or is_not_null"),
    ({"filters": [{"field": "path", "op": "eq", "value": 1}]}, "must be text, because 'path'"),
    ({"filters": [{"field": "path", "op": "eq", "value": ["a"]}]}, "must be one value"),
    ({"filters": [{"field": "path", "op": "in", "value": "a"}]}, "must be a list of values"),
    ({"filters": [{"field": "path", "op": "in", "value": []}]}, "1 to 1000 are allowed"),
    ({"filters": [{"field": "path", "op": "in", "value": ["a"] * 1001}]}, "1 to 1000 are allowed"),
    ({"filters": [{"field": "time_on_page", "op": "gt", "value": "9"}]}, "must be a number"),
    ({"filters": [{"field": "time_on_page", "op": "gt", "value": 1e300}]}, "must be a number"),
    ({"filters": [{"field": "time_on_page", "op": "contains", "value": "9"}]}, "is not text"),
    ({"filters": [{"field": "is_bot", "op": "eq", "value": "yes"}]}, "must be true or false"),
    ({"filters": [{"field": "ts", "op": "gt", "value": "soon"}]}, "must be an ISO 8601 instant"),
    ({"filters": [{"field": "path", "op": "is_null"}] * 51}, "at most 50 are allowed"),
]


@pytest.mark.parametrize(("query", "said"), WRONG)
def test_a_wrong_query_is_told_what_is_wrong(
    service: InProcessService, query: dict[str, Any], said: str
) -> None:
    reply = service.custom(**{"table": "events", "selects": [COUNT], **query})

    assert (reply.status, reply.json["success"], reply.json["code"]) == (
        400,
        False,
        "VALIDATION_ERROR",
    )
    assert said in reply.json["error"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"endDate": "2027-12-06"}, "401 days; at most 400 are allowed"),
        ({"limit": 10_001}, "'limit' must be at most 10,000"),
        ({"query": None}, "'query' must be an object, not null"),
        ({"timezone": "../etc/passwd"}, "'timezone' is '../etc/passwd'"),
    ],
)
def test_a_wrong_body_is_told_which_field(
    service: InProcessService, body: dict[str, Any], said: str
) -> None:
    whole = {"query": {"table": "events", "selects": [COUNT]}, **NOVEMBER, **body}

    reply = service.ask("POST", "/v1/query/custom", whole, website_id="shop")

    assert (reply.status, said in reply.json["error"]) == (400, True), reply.json


def test_the_limit_cuts_the_rows(service: InProcessService) -> None:
    service.holds(*(a_view(f"/{n}") for n in range(5)))
    body = {"query": {"table": "events", "selects": [COUNT], "groupBy": ["path"]}, **NOVEMBER}

    found = service.ask("POST", "/v1/query/custom", {**body, "limit": 2}, website_id="shop").json

    assert [row["path"] for row in found["data"]] == ["/0", "/1"]
    assert found["meta"]["rowCount"] == 2
