"""`tidemark ask` against a service that answers as a script says."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.cli.command_result import Done, Run
from tests.query.client.scripted_service import Said, Script, answering, failing, scripted_services

ENTRY = {"parameter": "funnel", "success": True, "data": [{"step": 1, "name": "/"}]}
WEBSITE = ("--website", "w", "--preset", "today")

Ask = Callable[..., tuple[Done, Script]]


@pytest.fixture
def ask(run: Run) -> Iterator[Ask]:
    with scripted_services() as play:

        def ask(answer: Said, *arguments: str) -> tuple[Done, Script]:
            client, script = play(answer)
            done = run("ask", *arguments, "--url", client.query_url, TIDEMARK_API_KEY="tk_x")
            return done, script

        yield ask


def body_of(script: Script) -> Any:
    return script.requests[0][2]


def test_a_query_type_has_options_filters_order_and_pages(ask: Ask) -> None:
    done, script = ask(
        answering(ENTRY),
        *("funnel", *WEBSITE, "--step", "/", "--step", "signup", "--option", "window=60"),
        *("--option", "by=session", "--where", "country = DE", "--where", "path starts_with /a"),
        *("--order", "step asc", "--limit", "5", "--page", "2", "--compare", "previous_period"),
    )

    assert (done.code, done.err) == (0, "")
    assert done.out.split() == ["step", "name", "1", "/"]
    assert body_of(script) == {
        "parameters": [
            {
                "name": "funnel",
                "steps": [{"name": "/"}, {"name": "signup"}],
                "window": 60,
                "by": "session",
            }
        ],
        "preset": "today",
        "filters": [
            {"field": "country", "operator": "eq", "value": "DE"},
            {"field": "path", "operator": "starts_with", "value": "/a"},
        ],
        "orderBy": [{"field": "step", "direction": "asc"}],
        "limit": 5,
        "page": 2,
        "compare": "previous_period",
    }


def test_a_page_says_how_many_rows_there_are(ask: Ask) -> None:
    one, _ = ask(answering({**ENTRY, "meta": {"totalRows": 1}}), "funnel", *WEBSITE)
    many, _ = ask(answering({**ENTRY, "meta": {"totalRows": 2345}}), "funnel", *WEBSITE)

    assert one.err == ""
    assert many.err == "1 of 2,345 rows; --limit and --page give others\n"
    assert many.out == one.out


def test_types_may_be_json_and_goals_are_steps(ask: Ask) -> None:
    funnel = '{"name": "funnel", "id": "a", "steps": ["/", "b"], "exclusions": ["/help"]}'
    _, script = ask(answering(ENTRY), funnel, "summary", *WEBSITE)
    split = ("--breakdown", "visit.channel")
    _, goals = ask(answering(ENTRY), "goals", "--goal", "/a", *split, *WEBSITE)

    assert body_of(script)["parameters"] == [
        {
            "name": "funnel",
            "id": "a",
            "steps": [{"name": "/"}, {"name": "b"}],
            "exclusions": [{"name": "/help"}],
        },
        "summary",
    ]
    assert body_of(goals)["parameters"] == [
        {"name": "goals", "goals": [{"name": "/a"}], "breakdown": "visit.channel"}
    ]


def test_the_start_of_retention_is_a_step(ask: Ask) -> None:
    _, script = ask(answering(ENTRY), "retention", "--option", "start=signup", *WEBSITE)

    assert body_of(script) == {
        "parameters": [{"name": "retention", "start": {"name": "signup"}}],
        "preset": "today",
    }


def test_metrics_are_asked_by_dimensions(ask: Ask) -> None:
    metrics = ("--metrics", "visits,bounce_rate", "--by", "visit.channel,time:day")
    done, script = ask(answering({"visits": 3}), *metrics, *WEBSITE, "--json")

    assert json.loads(done.out) == [{"visits": 3}]
    assert script.requests[0][0] == "/v1/query/metrics?website_id=w"
    assert body_of(script) == {
        "metrics": ["visits", "bounce_rate"],
        "dimensions": ["visit.channel", "time:day"],
        "preset": "today",
    }


COMPILED = {
    "success": True,
    "sql": "SELECT 1\nFROM scoped",
    "values": {},
    "tables": [{"name": "events", "version": 7, "rows": 12345}],
}


def test_a_query_type_is_compiled(ask: Ask) -> None:
    of_summary = {"parameter": "summary", **COMPILED, "engine": "duckdb", "prepared": True}
    stored = {"prepared": False, "reason": "filters", "further": ["comparison"]}
    of_pages = {"parameter": "pages", **COMPILED, **stored}

    done, script = ask(answering(of_summary, of_pages), "summary", "pages", *WEBSITE, "--compile")

    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "-- summary",
        "-- 12,345 rows of events, version 7",
        "-- engine: duckdb",
        "-- prepared results answer it",
        "SELECT 1",
        "FROM scoped;",
        "-- pages",
        "-- 12,345 rows of events, version 7",
        "-- prepared results do not: filters",
        "-- further statements: comparison",
        "SELECT 1",
        "FROM scoped;",
    ]
    assert script.requests[0][0] == "/v1/query/compile?website_id=w"
    assert body_of(script)["parameters"] == ["summary", "pages"]


def test_a_custom_query_is_compiled(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "query.json"
    file.write_text(json.dumps({"table": "events", "selects": []}))

    done, script = ask(
        answering(**COMPILED), "--custom", str(file), *WEBSITE, "--compile", "--json"
    )

    assert done.code == 0, done.err
    assert json.loads(done.out)["custom"]["sql"] == "SELECT 1\nFROM scoped"
    assert body_of(script)["query"]["table"] == "events"


def test_a_custom_query_comes_from_a_file(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "query.json"
    file.write_text('{"table": "events", "selects": []}')
    done, script = ask(
        Said(200, b"n\r\n1\r\n"),
        *("--custom", str(file), *WEBSITE, "--where", "country = DE", "--format", "csv"),
    )

    assert done.out == "n\r\n1\r\n"
    assert script.requests[0][0] == "/v1/query/custom?website_id=w&format=csv"
    assert body_of(script) == {
        "query": {
            "table": "events",
            "selects": [],
            "filters": [{"field": "country", "operator": "eq", "value": "DE"}],
        },
        "preset": "today",
    }


@pytest.mark.parametrize("name", ["attribution", "time_to_convert"])
def test_some_types_have_one_goal(ask: Ask, name: str) -> None:
    _, script = ask(answering(ENTRY), name, "--goal", "goal:Order", *WEBSITE)
    result, _ = ask(answering(ENTRY), name, "--goal", "a", "--goal", "b", *WEBSITE)

    assert body_of(script)["parameters"] == [{"name": name, "goal": {"goal": "Order"}}]
    assert f"{name} needs one --goal; 2 were given" in result.err


def test_metrics_have_arguments_goals_and_conditions(ask: Ask) -> None:
    done, script = ask(
        answering(),
        *("--metrics", "visits, conversions(Sign up) as signups, revenue(EUR)", *WEBSITE),
        *("--by", "visit.channel", "--having", "visits > 10", "--goal", "event:buy"),
        *("--segment", "On phones", "--segment", "all"),
        *("--person", "profile", "--where", "segment = Germans"),
    )

    assert done.code == 0, done.err
    assert script.requests[0][0] == "/v1/query/metrics?website_id=w"
    assert body_of(script) == {
        "metrics": [
            "visits",
            {"metric": "conversions", "goal": "Sign up", "as": "signups"},
            {"metric": "revenue", "currency": "EUR"},
        ],
        "dimensions": ["visit.channel"],
        "having": [{"field": "visits", "operator": "gt", "value": 10}],
        "segments": ["On phones", None],
        "goals": [{"event": "buy"}],
        "person": "profile",
        "filters": [{"segment": "Germans"}],
        "preset": "today",
    }


def test_annotations_stand_below_a_series(ask: Ask) -> None:
    notes = [
        {"id": "1", "start": "2026-11-01", "end": None, "text": "new \x1b[1m shop", "link": None},
        {
            "id": "2",
            "start": "2026-11-02",
            "end": "2026-11-03",
            "text": "sale",
            "link": "https://s",
        },
    ]
    entry = {
        "parameter": "events_by_date",
        "success": True,
        "data": [{"date": "2026-11-01", "pageviews": 3}],
        "meta": {"totalRows": 1, "annotations": notes},
    }

    done, _ = ask(answering(entry), "events_by_date", *WEBSITE)
    as_json, _ = ask(answering(entry), "events_by_date", *WEBSITE, "--json")

    assert done.out.splitlines()[2:] == [
        "annotation 2026-11-01: new \ufffd[1m shop",
        "annotation 2026-11-02 to 2026-11-03: sale (https://s)",
    ]
    assert json.loads(as_json.out) == {"events_by_date": entry["data"]}


def test_warnings_of_an_answer_are_told_beside_it(ask: Ask) -> None:
    entry = {
        "parameter": "goals",
        "success": True,
        "data": [{"name": "Purchase", "value": None}],
        "meta": {
            "totalRows": 1,
            "warnings": [{"code": "SEVERAL_CURRENCIES", "message": "two\x1b[1m", "count": 2}],
        },
    }

    done, _ = ask(answering(entry), "goals", *WEBSITE)

    assert done.err.splitlines() == ["warning: two\ufffd[1m"]


def test_csv_may_begin_with_a_byte_order_mark(ask: Ask) -> None:
    csv = ("summary", *WEBSITE, "--format", "csv", "--bom")
    done, script = ask(Said(200, "\ufeffn\r\n1\r\n".encode()), *csv)

    assert done.code == 0, done.err
    assert "bom=true" in script.requests[0][0]


def test_from_without_to_is_until_now(ask: Ask) -> None:
    _, script = ask(answering(ENTRY), "funnel", "--website", "w", "--from", "2026-11-01")

    body = body_of(script)
    assert body["startDate"] == "2026-11-01"
    assert body["endDate"] > "2026-11-01T"
    assert "preset" not in body


def test_an_error_names_the_options(ask: Ask) -> None:
    missing = failing(400, "VALIDATION_ERROR", "'parameters[0].steps' is missing")
    done, _ = ask(missing, "funnel", *WEBSITE)

    assert (done.code, done.err) == (1, "tidemark: --step is missing\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give query types, --metrics or --custom: one of them"),
        (
            ("--metrics", "visits", *WEBSITE, "--compile"),
            "--compile needs query types or --custom",
        ),
        (("summary", *WEBSITE, "--compile", "--format", "csv"), "--compile needs query types"),
        (("summary", "--metrics", "visits"), "give query types, --metrics or --custom: one"),
        (("summary", "--by", "country"), "--by needs --metrics"),
        (("summary", "--having", "visits > 1"), "--having needs --metrics"),
        (("summary", "--segment", "all"), "--segment needs --metrics"),
        (("--metrics", "sum(", *WEBSITE), "metric 'sum(' cannot be read"),
        (("summary", "--bom", *WEBSITE), "--bom needs --format csv"),
        (("summary", "funnel", "--step", "/"), "options of a query type (steps) need exactly one"),
        (("funnel", "--option", "window"), "--option 'window' is not NAME=VALUE"),
        (("summary", "--where", "country"), "--where: filter 'country' is no condition"),
        (("summary", "--filters", "[{"), "--filters is not JSON"),
        (('{"name": ', *WEBSITE), "TYPE is not JSON"),
        (('{"limit": 1}', *WEBSITE), "has no 'name'"),
        (("a", "b", "--format", "csv"), "--format csv holds one query type; 2 were given"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_sent(
    ask: Ask, arguments: tuple[str, ...], message: str
) -> None:
    done, script = ask(answering(), *arguments, "--website", "w")

    assert done.code == 2
    assert message in done.err
    assert script.requests == []
