"""Arguments of the client as requests."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from query.client import Client, InvalidRequest, Rows, ServiceError
from tests.query.client.scripted_service import Playing, Said, Script, answering

ENTRY = {"parameter": "funnel", "success": True, "data": [{"step": 1}]}
STEPS = [{"name": "/"}, {"event": "signup"}]
DE = {"field": "country", "operator": "eq", "value": "DE"}


def body_of(script: Script) -> Any:
    return script.requests[0][2]


@pytest.mark.parametrize(
    ("types", "more"),
    [
        ("funnel", {"steps": ["/", "event:signup"], "window": 60}),
        ({"name": "funnel", "steps": ["/", {"event": "signup"}], "window": 60}, {}),
        ({"name": "funnel", "steps": STEPS}, {"window": 60}),
    ],
)
def test_one_query_type_has_options(playing: Playing, types: Any, more: dict[str, Any]) -> None:
    client, script = playing(answering(ENTRY))

    rows = client.ask(types, website_id="w", preset="today", limit=3, person="profile", **more)

    assert rows == [{"step": 1}]
    assert body_of(script) == {
        "parameters": [{"name": "funnel", "steps": STEPS, "window": 60}],
        "preset": "today",
        "limit": 3,
        "person": "profile",
    }


def test_a_granularity_is_of_the_one_query_type(playing: Playing) -> None:
    client, script = playing(answering(ENTRY))

    client.ask("funnel", website_id="w", granularity="weekly")

    assert body_of(script) == {"parameters": [{"name": "funnel", "granularity": "weekly"}]}


@pytest.mark.parametrize("name", ["attribution", "time_to_convert"])
@pytest.mark.parametrize("goal", ["Purchase", {"name": "Purchase"}])
def test_the_goal_of_some_types_may_be_a_text(playing: Playing, name: str, goal: Any) -> None:
    client, script = playing(answering({**ENTRY, "parameter": name}))

    client.ask(name, website_id="w", goal=goal)

    assert body_of(script)["parameters"] == [{"name": name, "goal": {"name": "Purchase"}}]


def test_the_start_of_retention_is_a_step_and_that_of_a_request_is_a_day(playing: Playing) -> None:
    client, script = playing(answering({**ENTRY, "parameter": "retention"}))
    asked = {"name": "retention", "start": "event:signup", "cohort": "first_in_range"}

    client.ask(asked, returning="/thanks", start="2026-11-01", end="2026-11-30", website_id="w")

    assert body_of(script) == {
        "parameters": [
            {**asked, "start": {"event": "signup"}, "returning": {"name": "/thanks"}},
        ],
        "startDate": "2026-11-01",
        "endDate": "2026-11-30",
    }


def test_the_question_of_visitors_has_its_steps_in_full(playing: Playing) -> None:
    client, script = playing(answering(ENTRY))
    of = {"name": "funnel", "steps": ["/", "event:signup"], "step": 2, "outcome": "dropped"}
    excluded = {"exclusions": ["/help"]}

    client.ask("visitors", of={**of, **excluded}, website_id="w", preset="today")

    in_full = {**of, "steps": STEPS, "exclusions": [{"name": "/help"}]}
    assert body_of(script)["parameters"] == [{"name": "visitors", "of": in_full}]


def test_every_query_type_of_a_list_has_members_of_its_own(playing: Playing) -> None:
    client, script = playing(answering(ENTRY, {**ENTRY, "parameter": "b"}))
    second = {"name": "top_pages", "id": "b", "filters": "country = DE", "order_by": "name asc"}

    client.ask(["funnel", second], website_id="w", preset="today", order_by=["visitors"])

    assert body_of(script) == {
        "parameters": [
            "funnel",
            {
                "name": "top_pages",
                "id": "b",
                "filters": [DE],
                "orderBy": [{"field": "name", "direction": "asc"}],
            },
        ],
        "preset": "today",
        "orderBy": [{"field": "visitors", "direction": "desc"}],
    }


def test_a_start_without_an_end_is_until_now(playing: Playing) -> None:
    client, script = playing(answering(ENTRY))
    before = datetime.now(UTC) - timedelta(seconds=1)

    client.ask("funnel", website_id="w", start=date(2026, 11, 1))

    body = body_of(script)
    assert body["startDate"] == "2026-11-01"
    assert before <= datetime.fromisoformat(body["endDate"]) <= datetime.now(UTC)


def test_a_custom_query_has_filters_and_order_in_short(playing: Playing) -> None:
    client, script = playing(answering({"n": 2}, meta={"totalRows": 9}))
    query = {"table": "events", "selects": [], "filters": "country = DE", "having": ["n > 1"]}

    rows = client.custom({**query, "order_by": "n"}, website_id="w", preset="today")

    assert (rows, rows.meta) == ([{"n": 2}], {"totalRows": 9})
    assert script.requests[0][0] == "/v1/query/custom?website_id=w"
    assert body_of(script)["query"] == {
        "table": "events",
        "selects": [],
        "filters": [DE],
        "having": [{"field": "n", "operator": "gt", "value": 1}],
        "orderBy": [{"field": "n", "direction": "desc"}],
    }


def test_a_custom_query_is_compiled(playing: Playing) -> None:
    explained = {"sql": "SELECT 1", "values": {}, "tables": []}
    client, script = playing(answering(**explained))

    found = client.compile({"table": "events", "selects": []}, website_id="w", preset="today")

    assert found == {"data": [], **explained}
    assert script.requests[0][0] == "/v1/query/compile?website_id=w"


COMPILED = {"success": True, "sql": "SELECT 1", "values": {}, "tables": [], "prepared": True}


def test_a_query_type_is_compiled_with_its_options(playing: Playing) -> None:
    client, script = playing(answering({"parameter": "funnel", **COMPILED}))

    found = client.compile("funnel", steps=["/"], website_id="w", preset="today", prepared=False)

    assert found == {"sql": "SELECT 1", "values": {}, "tables": [], "prepared": True}
    assert script.requests[0][0] == "/v1/query/compile?website_id=w&prepared=false"
    assert body_of(script)["parameters"] == [{"name": "funnel", "steps": [{"name": "/"}]}]


def test_several_query_types_are_compiled_by_name(playing: Playing) -> None:
    entries = [{"parameter": name, **COMPILED} for name in ("summary", "pages")]
    client, _ = playing(answering(*entries))

    found = client.compile(["summary", {"name": "top_pages", "id": "pages"}], website_id="w")

    assert list(found) == ["summary", "pages"]


def test_a_query_type_that_cannot_be_compiled_is_an_error(playing: Playing) -> None:
    wrong = {"parameter": "sumary", "success": False, "code": "VALIDATION_ERROR", "error": "no"}
    client, _ = playing(answering(wrong))

    with pytest.raises(ServiceError, match="no"):
        client.compile("sumary", website_id="w", preset="today")


def test_metrics_are_asked_by_dimensions(playing: Playing) -> None:
    client, script = playing(answering({"visit.channel": "Direct", "visits": 3}))

    rows = client.metrics(
        "visits, bounce_rate",
        by=["visit.channel"],
        website_id="w",
        preset="today",
        filters=[DE],
        having="visits >= 2",
    )

    assert rows == Rows([{"visit.channel": "Direct", "visits": 3}])
    assert script.requests[0][0] == "/v1/query/metrics?website_id=w"
    assert body_of(script) == {
        "metrics": ["visits", "bounce_rate"],
        "dimensions": ["visit.channel"],
        "preset": "today",
        "filters": [DE],
        "having": [{"field": "visits", "operator": "gte", "value": 2}],
    }


@pytest.mark.parametrize(
    ("write", "target"),
    [
        (lambda c, **o: c.written("a", "csv", **o), "/v1/query"),
        (lambda c, **o: c.metrics_written("visits", (), "csv", **o), "/v1/query/metrics"),
        (lambda c, **o: c.custom_written({}, "csv", **o), "/v1/query/custom"),
    ],
)
def test_every_kind_of_query_is_written_in_a_format(
    playing: Playing, write: Any, target: str
) -> None:
    client, script = playing(Said(200, b"a\n1\n"))

    assert b"".join(write(client, website_id="w", preset="today")) == b"a\n1\n"
    assert script.requests[0][0] == f"{target}?website_id=w&format=csv"


def test_an_order_that_is_none_is_refused_before_it_is_sent(playing: Playing) -> None:
    client, script = playing()

    with pytest.raises(InvalidRequest, match="order 'a b c' is not a field with asc or desc"):
        client.ask("x", website_id="w", order_by="a b c")

    assert script.requests == []


def test_the_catalogue_needs_no_key(playing: Playing) -> None:
    client, script = playing(answering(configs={"summary": {}}), answering(tables=[]))
    public = Client(client.query_url)

    assert public.query_types() == {"summary": {}}
    assert public.tables()["tables"] == []
    assert [target for target, _, _ in script.requests] == [
        "/v1/query/types?include_meta=true",
        "/v1/query/tables",
    ]
