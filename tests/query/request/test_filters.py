"""Filters in groups, and on properties: standard and custom queries speak one language."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from query.request.operators import OPERATORS
from tests.query.lake import a_view
from tests.query.query_service import InProcessService, start_service

DATES = {"startDate": "2026-11-01", "endDate": "2026-11-30"}
COUNT = {"field": "*", "aggregate": "count", "alias": "n"}


def condition(field: str, operator: str, *value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator} | ({"value": value[0]} if value else {})


GERMAN = condition("country", "eq", "DE")
HOME = condition("path", "eq", "/")
CHEAP = condition("properties.price", "lt", 10)

ROWS = [
    a_view("/", country="DE", visitor="u1", properties='{"plan": "pro", "price": 9.5}'),
    a_view("/b", country="DE", visitor="u2", properties='{"plan": "free", "price": "9"}'),
    a_view("/", visitor="u3", properties='{"cart": {"total": 40}, "price": 100}'),
    a_view(None, visitor="u4", properties='{"plan": null, "price": -1, "a/b~c": true}'),
    a_view("/c", country="FR", visitor="u5"),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    running = start_service(tmp_path_factory.mktemp("service"))
    running.holds(*ROWS)
    return running


def visitors(service: InProcessService, *filters: Any) -> str:
    """The digits of the visitors that pass, in a custom query."""
    reply = service.custom("events", [COUNT], groupBy=["anonymous_id"], filters=list(filters))
    assert reply.status == 200, reply.json
    return "".join(sorted(row["anonymous_id"][1:] for row in reply.json["data"]))


@pytest.mark.parametrize(
    ("filter_", "found"),
    [
        ({"and": [GERMAN, HOME]}, "1"),
        ({"or": [GERMAN, HOME]}, "123"),
        ({"not": GERMAN}, "345"),
        ({"not": {"or": [GERMAN, HOME]}}, "45"),
        ({"or": [{"and": [GERMAN, {"not": HOME}]}, condition("country", "is_null")]}, "234"),
        (condition("properties.plan", "eq", "pro"), "1"),
        (condition("properties.plan", "ne", "pro"), "2345"),
        (condition("properties.plan", "is_null"), "345"),
        (condition("properties.plan", "in", ["pro", "free"]), "12"),
        (condition("properties.plan", "starts_with", "fr"), "2"),
        (CHEAP, "14"),  # "9" is text, not a number
        (condition("properties.price", "eq", "9"), "2"),
        (condition("properties.price", "eq", 100), "3"),
        (condition("properties.price", "not_in", [9.5, -1]), "235"),
        (condition("properties.cart.total", "gte", 40), "3"),
        (condition("properties.a/b~c", "eq", True), "4"),
        (condition("properties.a/b~c", "ne", True), "1235"),
    ],
)
def test_a_filter_keeps_the_rows_it_should(
    service: InProcessService, filter_: Any, found: str
) -> None:
    assert visitors(service, filter_) == found


@pytest.mark.parametrize(
    ("field", "digits"),
    [("load_time", 309), ("time_on_page", 5_000), ("properties.price", 4_000), ("ts", 309)],
)
def test_a_number_of_hundreds_of_digits_is_refused_by_its_name(
    service: InProcessService, field: str, digits: int
) -> None:
    many = "9" * digits
    filters = f'[{{"field": "{field}", "operator": "gt", "value": {many}}}]'
    span = '"startDate": "2026-11-01", "endDate": "2026-11-30"'
    free = f'"table": "events", "selects": [{json.dumps(COUNT)}]'
    having = f'[{{"field": "n", "operator": "gt", "value": -{many}}}]'
    bodies = {
        "/v1/query": f'{{"parameters": ["pages"], "filters": {filters}, {span}}}',
        "/v1/query/custom": f'{{"query": {{{free}, "having": {having}}}, {span}}}',
        "/v1/query/compile": f'{{"query": {{{free}, "filters": {filters}}}, {span}}}',
    }

    messages = []
    for path, body in bodies.items():
        reply = service.ask("POST", path, body.encode(), website_id="shop")
        outcome = reply.json["data"][0] if reply.status == 200 else reply.json
        messages.append((outcome["success"], outcome["code"], outcome["error"]))
    export = service.ask("GET", "/v1/export/events", website_id="shop", filters=filters, **DATES)
    messages.append((export.json["success"], export.json["code"], export.json["error"]))

    for success, code, error in messages:
        assert (success, code) == (False, "VALIDATION_ERROR")
        assert "filters[0].value" in error or "having[0].value" in error
        assert len(error) < 200


def test_standard_questions_take_the_same_groups(service: InProcessService) -> None:
    body = service.query(
        "pages", filters=[{"or": [GERMAN, CHEAP]}, condition("path", "ne", "/b")]
    ).json

    assert [row["name"] for row in body["data"][0]["data"]] == ["/"]
    assert body["meta"]["filters_applied"] == 3


plain = st.sampled_from(
    [GERMAN, HOME, CHEAP]
    + [condition("country", o.name, "DE") for o in OPERATORS if o.arity == "one value"]
    + [condition("path", "in", ["/", "/c"]), condition("properties.plan", "is_null")]
)
groups = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda each: {"and": each})
        | st.lists(inner, min_size=1, max_size=3).map(lambda each: {"or": each})
        | inner.map(lambda each: {"not": each})
    ),
    max_leaves=3,
)


def depth(filter_: Any) -> int:
    inner = filter_.get("and") or filter_.get("or") or [filter_["not"]] if len(filter_) == 1 else []
    return 1 + max(map(depth, inner)) if inner else 0


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(filter_=groups.filter(lambda each: depth(each) < 4))
def test_a_filter_and_its_negation_share_all_rows(service: InProcessService, filter_: Any) -> None:
    assert sorted(visitors(service, filter_) + visitors(service, {"not": filter_})) == list("12345")


DEEP: Any = {"not": {"not": {"not": {"not": GERMAN}}}}
WRONG: list[tuple[Any, str]] = [
    ({}, "'query.filters[0].field' is missing"),
    ({"and": []}, "'query.filters[0].and' is empty; it needs at least one condition"),
    ({"or": [GERMAN], **GERMAN}, "'query.filters[0]' must be one condition, or one of 'and'"),
    ({"or": [GERMAN], "value": 1}, "'query.filters[0]' must be one condition, or one of 'and'"),
    ({**GERMAN, "op": "ne"}, "'query.filters[0]' has an 'operator' and a different 'op'; give one"),
    (condition("country", "is_null", False), "'query.filters[0].value' has no meaning for"),
    ({"or": [GERMAN], "not": GERMAN}, "'query.filters[0]' must be one condition, or one of"),
    ({"or": [GERMAN, {"not": condition("path", "eq", 1)}]}, "'query.filters[0].or[1].not.value'"),
    ({"not": DEEP}, "'query.filters' is nested too deep; at most 4 groups in each other"),
    ({"or": [GERMAN] * 51}, "'query.filters' has 51 filters; at most 50 are allowed"),
    ({"and": GERMAN}, "'query.filters[0].and' must be an array"),
    (condition("properties.", "eq", "x"), "'query.filters[0].field' is 'properties.'; use a path"),
    (
        condition("properties.price", "eq", 9_007_199_254_740_993),
        "'query.filters[0].value' must be text or a number or true or false, in a list all of one "
        "type; a number beyond 10^14 must be given as text, in quotes",
    ),
    (condition("properties.a..b", "eq", "x"), "use a path of 1 to 8 keys such as properties.plan"),
    (condition("properties.a", "in", ["x", 1]), "in a list all of one type"),
    (
        condition("properties.a", "gt", "100"),
        "'query.filters[0].value' is text, by which 'gt' compares letter by letter; give the number"
        " 100, without quotes",
    ),
    (condition("country", "eq", ["DE"]), "must be one value for 'eq'; 'in' takes a list"),
    (condition("country", "in", ["DE", 1]), "'query.filters[0].value[1]' must be text"),
    (condition("country", "in", ["DE", None]), "because 'country' is string; 'is_null' finds rows"),
    (
        condition("properties.a", "contains", 1),
        "'query.filters[0]': operator 'contains' needs text",
    ),
]


@pytest.mark.parametrize(("filter_", "message"), WRONG)
def test_a_wrong_filter_is_told_where(
    service: InProcessService, filter_: Any, message: str
) -> None:
    reply = service.custom("events", [COUNT], filters=[filter_])

    assert reply.status == 400
    assert message in reply.json["error"]


def test_groups_as_deep_as_allowed_are_answered(service: InProcessService) -> None:
    assert visitors(service, DEEP) == "12"


def test_groups_without_end_are_refused(service: InProcessService) -> None:
    body = b'{"parameters":["summary"],"filters":[' + b'{"not":' * 700 + b"{}" + b"}" * 700 + b"]}"

    assert service.ask("POST", "/v1/query", body, website_id="shop").status == 400


def test_properties_are_only_of_tables_that_have_them(service: InProcessService) -> None:
    reply = service.custom("vitals", [COUNT], filters=[condition("properties.a", "eq", "x")])

    assert reply.json["error"].startswith("Unknown column 'properties.a' in table 'vitals'")


@pytest.mark.parametrize("depth", [5, 200, 300, 400, 500, 800])
@pytest.mark.parametrize("route", ["/v1/query", "/v1/query/metrics", "/v1/query/custom"])
@pytest.mark.parametrize(
    ("around", "refusal"),
    [
        (lambda inner: {"not": inner}, "nested too deep"),
        (lambda inner: {"has_done": {"filters": [inner]}}, "cannot hold 'has_done'"),
    ],
    ids=("not", "has_done"),
)
def test_filters_of_any_depth_are_refused(
    service: InProcessService,
    route: str,
    depth: int,
    around: Callable[[Any], Any],
    refusal: str,
) -> None:
    nested: Any = GERMAN
    for _ in range(depth if refusal == "nested too deep" else max(2, depth // 3)):
        nested = around(nested)
    bodies: dict[str, Any] = {
        "/v1/query": {"parameters": ["summary"], "filters": [nested]},
        "/v1/query/metrics": {"metrics": ["visitors"], "filters": [nested]},
        "/v1/query/custom": {
            "query": {
                "table": "events",
                "selects": [{"field": "*", "aggregate": "count", "alias": "n"}],
                "filters": [nested],
            }
        },
    }

    body = {**bodies[route], "preset": "today"}
    reply = service.ask("POST", route, body, website_id="shop")

    assert refusal in str(reply.json)
