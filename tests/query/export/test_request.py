"""Query parameters of exports: what they become, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import QueryParams

from query.custom.session_table import SESSION_COLUMNS
from query.custom.tables import CUSTOM_TABLES
from query.export.request import PreparedExport, columns_by_name, default_columns, parse_export
from query.request.subject import QuerySubject, SubjectKind
from schemas.errors import Malformed
from schemas.registry.validation import new_key
from tests.query.lake import a_view, an_error, an_event
from tests.query.query_service import NOVEMBER, NOW, InProcessService, start_service

SHOP = QuerySubject(SubjectKind.WEBSITE, ("shop",), "acme", "Europe/Berlin")
KEY, _ = new_key("acme", ("read:data",), NOW, name="reader")


def parsed(table: str = "events", **given: str) -> PreparedExport:
    return parse_export(table, QueryParams({**NOVEMBER, **given}), NOW, SHOP, KEY)


def test_an_export_is_of_the_days_of_the_website() -> None:
    export = parsed()

    assert export.query.time_range.zone == "Europe/Berlin"
    assert export.query.time_range.start_ms == 1_793_487_600_000
    assert export.query.include_bots is False
    assert [table.name for table in export.tables] == ["events"]


def test_the_time_zone_of_the_request_comes_first() -> None:
    assert parsed(timezone="UTC").query.time_range.start_ms == 1_793_491_200_000


@pytest.mark.parametrize(
    ("as_of", "versions"),
    [("3", {"events": 3}), ('{"events": 2, "errors": 1}', {"events": 2, "errors": 1})],
)
def test_versions_are_a_number_or_those_of_a_response(as_of: str, versions: dict[str, int]) -> None:
    assert parsed(asOf=as_of).query.as_of == versions


def test_facts_of_the_visit_read_events_as_well() -> None:
    export = parsed("errors", columns="ts,visit.channel")

    assert [column.name for column in export.columns] == ["ts", "visit.channel"]
    assert [table.name for table in export.tables] == ["errors", "events"]


def test_filters_are_json() -> None:
    export = parsed(filters='[{"field": "path", "operator": "eq", "value": "/"}]')

    assert export.where.values == {"f0_0": "/"}


@pytest.mark.parametrize(
    ("table", "given", "message"),
    [
        ("event", {}, "Unknown table 'event'; did you mean 'events'?"),
        ("events", {"include_bots": "yes"}, "'include_bots' is 'yes'; it must be true or false"),
        ("events", {"asOf": "newest"}, "'asOf' is 'newest'; it must be a version number"),
        ("events", {"filters": "path"}, "'filters' is not valid JSON"),
        ("events", {"columns": "pth"}, "Unknown column 'pth' in table 'events'"),
        ("events", {"timezone": "Mars"}, "'timezone'"),
    ],
)
def test_wrong_parameters_are_refused(table: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(Malformed, match=message.replace("?", r"\?")):
        parsed(table, **given)


LATER = "2026-11-10T12:05:00Z"


@pytest.fixture
def service(tmp_path: Path) -> InProcessService:
    running = start_service(tmp_path)
    running.holds(
        a_view("/in", session="s1", channel="Paid Search", utm_campaign="sale", country="DE"),
        an_event("purchase", session="s1", at=LATER, channel="Direct", path="/pay"),
        a_view("/", session="s2", visitor="u2", channel="Direct"),
        an_error("boom", session="s1", at=LATER),
    )
    return running


def exported(service: InProcessService, table: str, **query: Any) -> list[dict[str, Any]]:
    parameters = {"website_id": "shop", **NOVEMBER, **query}
    reply = service.ask("GET", f"/v1/export/{table}", None, **parameters)
    assert reply.status == 200, reply.json
    return [json.loads(line) for line in reply.body.splitlines()]


def test_stored_columns_have_stored_names_and_values(service: InProcessService) -> None:
    columns = [column.name for column in default_columns(CUSTOM_TABLES["events"])]
    public = [c.name for c in CUSTOM_TABLES["events"].table.columns if c.public]

    assert columns == public
    assert [row["channel"] for row in exported(service, "events")] == [
        "Paid Search",
        "Direct",
        "Direct",
    ]


def test_facts_of_the_visit_are_exported_when_they_are_named(service: InProcessService) -> None:
    columns = "name,channel,visit.channel,visit.exit_page"

    assert exported(service, "events", columns=columns)[2] == {
        "name": "purchase",
        "channel": "Direct",
        "visit.channel": "Paid Search",
        "visit.exit_page": "/in",
    }
    assert exported(service, "errors", columns="message,visit.utm_campaign") == [
        {"message": "boom", "visit.utm_campaign": "sale"}
    ]


def test_filters_name_sources_of_the_visit(service: InProcessService) -> None:
    paid = json.dumps([{"field": "channel", "operator": "eq", "value": "Paid Search"}])
    stored = json.dumps([{"field": "event.channel", "operator": "eq", "value": "Paid Search"}])

    assert [row["name"] for row in exported(service, "events", columns="name", filters=paid)] == [
        "screen_view",
        "purchase",
    ]
    assert exported(service, "events", columns="path", filters=stored) == [{"path": "/in"}]
    assert exported(service, "errors", columns="message", filters=paid) == [{"message": "boom"}]


def test_sessions_are_exported_in_the_order_of_their_start(service: InProcessService) -> None:
    service.holds(a_view("/first", session="s0", at="2026-11-09T12:00:00Z"))
    columns = "session_id,started_at,duration,is_bounce,channel,visit.entry_page"
    bounced = json.dumps([{"field": "is_bounce", "operator": "eq", "value": True}])

    rows = exported(service, "sessions", columns=columns)

    assert [row["session_id"] for row in rows] == ["s0", "s1", "s2"]
    assert rows[1] == {
        "session_id": "s1",
        "started_at": "2026-11-10T12:00:00.000Z",
        "duration": 300.0,
        "is_bounce": False,
        "channel": "Paid Search",
        "visit.entry_page": "/in",
    }
    assert [r["session_id"] for r in exported(service, "sessions", filters=bounced)] == ["s0", "s2"]
    names = [column.name for column in SESSION_COLUMNS]
    assert list(exported(service, "sessions")[0]) == [n for n in names if n != "website_id"]


def test_versions_of_both_tables_are_read_again(service: InProcessService) -> None:
    body = service.custom(
        "errors", [{"field": "*", "aggregate": "count"}], groupBy=["visit.channel"]
    ).json
    versions = body["meta"]["versions"]
    service.holds(a_view("/before", session="s1", at="2026-11-10T11:00:00Z", channel="Email"))

    now = exported(service, "errors", columns="visit.channel")
    then = exported(service, "errors", columns="visit.channel", asOf=json.dumps(versions))

    assert sorted(versions) == ["errors", "events"]
    assert (now, then) == ([{"visit.channel": "Email"}], [{"visit.channel": "Paid Search"}])


def test_every_column_may_be_exported(service: InProcessService) -> None:
    for name, table in CUSTOM_TABLES.items():
        if name == "clicks":
            continue
        known = columns_by_name(table)
        for row in exported(service, name, columns=",".join(known)):
            assert list(row) == list(known)


def test_an_empty_list_of_columns_is_refused(service: InProcessService) -> None:
    for columns in ("", " "):
        reply = service.ask(
            "GET", "/v1/export/events", website_id="shop", columns=columns, preset="today"
        )

        assert (reply.status, reply.json["error"]) == (
            400,
            "'columns' is empty; name columns, or leave it out for all stored ones",
        )
