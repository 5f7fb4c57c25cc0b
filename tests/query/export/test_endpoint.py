"""Exports: the stored rows of one subject, in order, as files of any size."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.query.export.export_requests import exported, lines
from tests.query.lake import a_click, a_view, a_vital, an_error, an_event, an_outbound_click
from tests.query.query_service import InProcessService, reused, start_service


@reused
def service(tmp_path: Path) -> InProcessService:
    running = start_service(tmp_path)
    running.holds(
        a_view("/late", at="2026-11-12T09:00:00.5Z"),
        a_view("/early", at="2026-11-10T09:00:00Z"),
        an_event("bot", at="2026-11-11T09:00:00Z", is_bot=True),
        an_event("before", at="2026-10-31T22:59:59.999Z"),
        a_view("/theirs", website="rival"),
    )
    return running


def test_rows_come_as_lines_in_the_order_of_time(service: InProcessService) -> None:
    reply = exported(service, columns="ts,path,is_bot")

    assert reply.headers["content-type"] == "application/x-ndjson"
    assert reply.headers["content-disposition"] == 'attachment; filename="events.ndjson"'
    assert lines(reply.body) == [
        {"ts": "2026-11-10T09:00:00.000Z", "path": "/early", "is_bot": False},
        {"ts": "2026-11-12T09:00:00.500Z", "path": "/late", "is_bot": False},
    ]


def test_days_are_those_of_the_zone_and_programs_are_there_when_asked(
    service: InProcessService,
) -> None:
    reply = exported(
        service,
        columns="name",
        startDate="2026-10-31",
        endDate="2026-11-11",
        timezone="Europe/Berlin",
        include_bots="true",
    )

    assert [row["name"] for row in lines(reply.body)] == ["before", "screen_view", "bot"]


def test_a_version_is_exported_again_as_it_was(service: InProcessService) -> None:
    version = service.query("summary_metrics").json["meta"]["versions"]["events"]
    service.holds(a_view("/later", at="2026-11-13T09:00:00Z"))

    then = lines(exported(service, columns="path", asOf=str(version)).body)
    now = lines(exported(service, columns="path").body)

    assert then == [{"path": "/early"}, {"path": "/late"}]
    assert now == [{"path": "/early"}, {"path": "/late"}, {"path": "/later"}]
    assert exported(service, asOf="99").json["error"] == (
        f"'asOf' is 99 for table 'events', whose newest version is {version + 1}"
    )


def test_filters_are_those_of_queries(service: InProcessService) -> None:
    wanted = json.dumps([{"field": "path", "operator": "starts_with", "value": "/l"}])
    reply = exported(service, columns="path", filters=wanted)

    assert lines(reply.body) == [{"path": "/late"}]


def test_all_columns_of_a_table_come_when_none_is_named(service: InProcessService) -> None:
    [row, _] = lines(exported(service).body)

    assert row["path"] == "/early"
    assert "website_id" not in row
    assert "visitor_hash" not in row
    assert row["country"] is None


@pytest.mark.parametrize("table", ["errors", "vitals", "outbound", "clicks"])
def test_every_stored_table_is_exported(service: InProcessService, table: str) -> None:
    service.holds(an_error("boom"), a_vital("LCP", 2.5), an_outbound_click("https://x.example/p"))
    service.holds(a_click(), a_click(link="away", organization="globex"))
    columns = {
        "errors": "message",
        "vitals": "metric_value",
        "outbound": "domain,text",
        "clicks": "slug",
    }

    rows = lines(exported(service, table, columns=columns[table]).body)

    expected = {
        "errors": {"message": "boom"},
        "vitals": {"metric_value": 2.5},
        "outbound": {"domain": "x.example", "text": "more"},
        "clicks": {"slug": "go"},
    }
    assert rows == [expected[table]]


def test_an_export_is_an_arrow_stream_or_a_parquet_file_too(service: InProcessService) -> None:
    arrow = pa.ipc.open_stream(exported(service, columns="path", format="arrow").body).read_all()
    parquet = pq.read_table(io.BytesIO(exported(service, columns="path", format="parquet").body))

    assert arrow.to_pydict() == parquet.to_pydict() == {"path": ["/early", "/late"]}


def test_an_export_without_rows_is_an_empty_file_of_its_format(service: InProcessService) -> None:
    reply = exported(service, "errors", columns="message,level", format="csv")

    assert (reply.status, reply.body) == (200, b"message,level\r\n")


@pytest.mark.parametrize(
    ("table", "query", "error_message"),
    [
        ("event", {}, "Unknown table 'event'; did you mean 'events'?"),
        (
            "events",
            {"columns": "contry"},
            "Unknown column 'contry' in table 'events'; did you mean 'country'?",
        ),
        ("events", {"columns": "path,path"}, "'columns' names 'path' twice"),
        (
            "events",
            {"asOf": "yesterday"},
            "'asOf' is 'yesterday'; it must be a version number from 'meta.versions', or all "
            "of that object",
        ),
        (
            "events",
            {"include_bots": "maybe"},
            "'include_bots' is 'maybe'; it must be true or false",
        ),
        (
            "events",
            {"format": "json"},
            "'format' is 'json'; it must be one of csv, ndjson, arrow, parquet, xlsx",
        ),
        (
            "events",
            {"filters": "["},
            "'filters' is not valid JSON: it ends too early",
        ),
    ],
)
def test_what_is_wrong_is_named(
    service: InProcessService, table: str, query: dict[str, str], error_message: str
) -> None:
    reply = exported(service, table, **query)

    assert reply.status == 400
    assert reply.json["error"] == error_message


@pytest.mark.parametrize(
    ("key", "subject", "status"),
    [
        ("globex", "shop", 403),
        ("acme-track", "shop", 403),
        ("acme-shop", "blog", 403),
        ("acme", "none", 403),
    ],
)
def test_an_export_reaches_what_its_key_reaches(
    service: InProcessService, key: str, subject: str, status: int
) -> None:
    assert exported(service, key=key, website_id=subject).status == status


def test_an_export_counts_as_a_custom_query(service: InProcessService) -> None:
    assert exported(service).headers["x-ratelimit-limit"] == "6000"
