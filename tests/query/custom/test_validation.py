"""Error messages for invalid custom queries."""

from typing import Any

import pytest

from tests.query.custom_queries import COUNT
from tests.query.query_service import NOVEMBER, InProcessService

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"table": "event"}, "Unknown table 'event'; did you mean 'events'?"),
    (
        {"groupBy": ["contry"]},
        "Unknown column 'contry' in table 'events', at 'query.groupBy[0]'; did you mean 'country'?",
    ),
    ({"groupBy": ["organization_id"]}, "Unknown column 'organization_id' in table 'events'"),
    ({"groupBy": ["visitor_hash"]}, "Unknown column 'visitor_hash' in table 'events'"),
    (
        {"groupBy": ["path"] * 2},
        "'path' names two columns of the result; name it once in 'query.groupBy'",
    ),
    ({"groupBy": ["domain"]}, "at 'query.groupBy[0]'; did you mean 'outbound_domain'?"),
    ({"groupBy": ["time:weekday"]}, "did you mean 'time:day_of_week'?"),
    ({"groupBy": ["time:centuries"]}, "Unknown time bucket 'time:centuries'"),
    ({"selects": [{**COUNT, "aggregate": "count_distinct"}]}, "did you mean 'uniq'?"),
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
    ({"filters": [{"field": "path", "op": "like", "value": "a"}]}, "did you mean 'contains'?"),
    ({"filters": [{"field": "path", "op": "=", "value": "a"}]}, "did you mean 'eq'?"),
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


@pytest.mark.parametrize(("query", "message"), WRONG)
def test_an_invalid_query_names_the_invalid_field(
    service: InProcessService, query: dict[str, Any], message: str
) -> None:
    reply = service.custom(**{"table": "events", "selects": [COUNT], **query})

    assert (reply.status, reply.json["success"], reply.json["code"]) == (
        400,
        False,
        "VALIDATION_ERROR",
    )
    assert message in reply.json["error"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"endDate": "2027-12-06"}, "401 days; at most 400 are allowed"),
        ({"limit": 10_001}, "'limit' must be at most 10,000"),
        ({"query": None}, "'query' must be an object, not null"),
        ({"timezone": "../etc/passwd"}, "'timezone' is '../etc/passwd'"),
    ],
)
def test_an_invalid_body_names_the_invalid_field(
    service: InProcessService, body: dict[str, Any], message: str
) -> None:
    whole = {"query": {"table": "events", "selects": [COUNT]}, **NOVEMBER, **body}

    reply = service.ask("POST", "/v1/query/custom", whole, website_id="shop")

    assert (reply.status, message in reply.json["error"]) == (400, True), reply.json
