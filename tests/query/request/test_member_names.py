"""Members of a question: other spellings are taken; unknown ones are refused with what to do."""

from typing import Any

import pytest

from tests.query.lake import a_view
from tests.query.query_service import NOVEMBER, InProcessService, start_service

COUNT = {"field": "*", "aggregate": "count", "alias": "n"}
GERMAN = {"field": "country", "operator": "eq", "value": "DE"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    running = start_service(tmp_path_factory.mktemp("service"))
    running.holds(
        a_view("/", country="DE", visitor="u1", session="s1"),
        a_view("/", country="FR", visitor="u2", session="s2"),
    )
    return running


def standard(service: InProcessService, parameter: object = "summary", **more: Any) -> Any:
    body = {"parameters": [parameter], **NOVEMBER, **more}
    return service.ask("POST", "/v1/query", body, website_id="shop")


def custom(service: InProcessService, query: dict[str, Any], **more: Any) -> Any:
    body = {"query": {"table": "events", "selects": [COUNT], **query}, **NOVEMBER, **more}
    return service.ask("POST", "/v1/query/custom", body, website_id="shop")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"filter": [GERMAN]},
            "Unknown member 'filter' in the body; did you mean 'filters'?",
        ),
        ({"where": [GERMAN]}, "Unknown member 'where' in the body; use 'filters'"),
        (
            {"date_range": "7d"},
            "Unknown member 'date_range' in the body; use 'preset', or 'startDate' and 'endDate'",
        ),
        (
            {"website_id": "shop"},
            "Unknown member 'website_id' in the body; it belongs in the query string of the URL, "
            "as in /v1/query?website_id=…",
        ),
        (
            {"groupBy": ["country"]},
            "Unknown member 'groupBy' in the body; query types have fixed groups; use 'groupBy' of "
            "a custom query (POST /v1/query/custom)",
        ),
        ({"to": "previous_year"}, "Unknown member 'to' in the body; it belongs in 'compare'"),
        (
            {"filters": [{**GERMAN, "val": 1}]},
            "Unknown member 'val' in 'filters[0]'; did you mean 'value'?",
        ),
        (
            {"filters": [{"or": [GERMAN, {"column": "country", "op": "is_null"}]}]},
            "Unknown member 'column' in 'filters[0].or[1]'; use 'field'",
        ),
        (
            {"orderBy": [{"field": "name", "order": "asc"}]},
            "Unknown member 'order' in 'orderBy[0]'; known are field, direction",
        ),
        (
            {"compare": {"to": "previous_year", "timezone": "UTC"}},
            "Unknown member 'timezone' in 'compare'; it belongs in the body, beside 'compare'",
        ),
        (
            {"compare": {"to": {"start": "2026-10-01", "endDate": "2026-10-02"}}},
            "Unknown member 'start' in 'compare.to'; did you mean 'startDate'?",
        ),
        ({"timezone": "UTC", "timeZone": "UTC"}, "'timezone' is given twice, also as 'timeZone'"),
    ],
)
def test_an_unknown_member_of_a_standard_request_is_refused(
    service: InProcessService, more: dict[str, Any], said: str
) -> None:
    reply = standard(service, **more)

    assert (reply.status, reply.json["error"]) == (400, said)
    assert reply.json["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        (
            {"name": "top_pages", "filter": [GERMAN]},
            "Unknown member 'filter' in 'parameters[0]'; did you mean 'filters'?",
        ),
        (
            {"name": "top_pages", "asOf": "2026-10-01"},
            "Unknown member 'asOf' in 'parameters[0]'; it belongs in the body, beside 'parameters'",
        ),
        (
            {"name": "funnel", "step": [{"path": "/"}, {"path": "/b"}]},
            "Unknown member 'step' in 'parameters[0]'; did you mean 'steps'?",
        ),
        (
            {"name": "top_pages", "filters": [{**GERMAN, "operater": "eq"}]},
            "Unknown member 'operater' in 'parameters[0].filters[0]'; did you mean 'operator'?",
        ),
    ],
)
def test_an_unknown_member_of_a_parameter_is_refused(
    service: InProcessService, parameter: dict[str, Any], said: str
) -> None:
    reply = standard(service, parameter)

    assert (reply.status, reply.json["error"]) == (400, said)


def test_an_unknown_member_of_a_step_fails_its_query(service: InProcessService) -> None:
    steps = [{"path": "/"}, {"path": "/b", "filter": [GERMAN]}]

    reply = standard(service, {"name": "funnel", "steps": steps})

    [entry] = reply.json["data"]
    assert entry["error"] == (
        "Unknown member 'filter' in 'parameters[0].steps[1]'; did you mean 'filters'?"
    )


@pytest.mark.parametrize(
    ("query", "more", "said"),
    [
        (
            {},
            {"filters": [GERMAN]},
            "Unknown member 'filters' in the body; it belongs in 'query'",
        ),
        (
            {},
            {"group_by": ["path"]},
            "Unknown member 'group_by' in the body; it belongs in 'query'",
        ),
        (
            {"limit": 5},
            {},
            "Unknown member 'limit' in 'query'; it belongs in the body, beside 'query'",
        ),
        ({"where": [GERMAN]}, {}, "Unknown member 'where' in 'query'; use 'filters'"),
        (
            {"granularity": "daily"},
            {},
            "Unknown member 'granularity' in 'query'; group by a bucket of time instead: "
            "'groupBy': ['time:daily']",
        ),
        (
            {"selects": [{**COUNT, "aggregation": "count"}]},
            {},
            "Unknown member 'aggregation' in 'query.selects[0]'; use 'aggregate'",
        ),
    ],
)
def test_an_unknown_member_of_a_custom_request_is_refused(
    service: InProcessService, query: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    reply = custom(service, query, **more)

    assert (reply.status, reply.json["error"]) == (400, said)


def test_a_request_of_an_array_is_refused_alone(service: InProcessService) -> None:
    good = {"parameters": ["summary"], **NOVEMBER}

    reply = service.ask("POST", "/v1/query", [good, {**good, "filter": []}], website_id="shop")

    first, second = reply.json["results"]
    assert (first["success"], second["success"]) == (True, False)
    assert second["error"] == "Unknown member 'filter' in the body; did you mean 'filters'?"


def test_members_in_other_spellings_mean_the_same(service: InProcessService) -> None:
    named = standard(
        service,
        {"name": "pages", "startDate": "2026-11-01", "end_date": "2026-11-30", "order_by": []},
        timeZone="Asia/Kolkata",
        include_bots=True,
    ).json
    grouped = custom(service, {"group_by": ["country"], "order-by": [{"field": "country"}]}).json

    assert named["meta"]["timezone"] == "Asia/Kolkata"
    assert named["data"][0]["data"][0]["visitors"] == 2
    assert [row["country"] for row in grouped["data"]] == ["FR", "DE"]


def test_a_parameter_may_have_filters_limit_page_and_order(service: InProcessService) -> None:
    own = {
        "name": "country",
        "id": "german",
        "filters": [GERMAN],
        "limit": 1,
        "orderBy": [{"field": "name", "direction": "asc"}],
    }

    reply = service.query(own, "country", {"name": "country", "limit": 1, "page": 2}).json

    german, whole, second = ([row["name"] for row in entry["data"]] for entry in reply["data"])
    assert (german, sorted(whole)) == (["DE"], ["DE", "FR"])
    assert second == whole[1:]
    assert (reply["meta"]["filters_applied"], reply["meta"]["limit"]) == (0, 100)
    # in addition to those of the body
    [both, _] = service.query(own, "country", filters=[{**GERMAN, "value": "FR"}]).json["data"]
    assert both["data"] == []


def test_a_wrong_filter_of_a_parameter_fails_it_alone(service: InProcessService) -> None:
    wrong = {"name": "summary", "filters": [{**GERMAN, "field": "contry"}]}

    failed, good = service.query(wrong, "summary").json["data"]

    assert "did you mean 'country'?" in failed["error"]
    assert good["success"]


def test_the_answer_says_how_many_queries_failed(service: InProcessService) -> None:
    reply = service.query("summry", "summary", "pagez", id="tile-7").json

    assert (reply["success"], reply["failed"], reply["queryId"]) == (True, 2, "tile-7")


def test_a_deeply_nested_filter_is_refused(service: InProcessService) -> None:
    nested: Any = {"field": "path", "OP": "is_null"}
    for _ in range(150):
        nested = {"not": nested}

    reply = standard(service, filters=[nested])

    assert reply.status in (200, 400)
    assert "nested too deep" in str(reply.json)
