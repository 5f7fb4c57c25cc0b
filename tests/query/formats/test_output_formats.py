"""Formats: the same rows as JSON, CSV, NDJSON, Arrow and Parquet, chosen by name or by `Accept`."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import fields
from openpyxl import load_workbook

from query.formats.columns import ColumnKind, ResultColumn
from query.formats.csv_ndjson import CsvWriter
from query.formats.output_formats import FILE_FORMATS, FORMATS
from query.formats.result_table import declared_columns
from query.request.subject import SubjectKind
from query.standard.declaration.query_type import QueryType
from query.standard.query_types import FAMILIES, QUERY_TYPES
from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.query.lake import a_click, a_view, a_vital, an_error, an_event, an_outbound_click
from tests.query.query_service import NOVEMBER, InProcessService, start_service

Rows = list[dict[str, Any]]

ALL_TYPES = [query_type for family in FAMILIES for query_type in family]


def read_csv(body: bytes) -> Rows:
    return list(csv.DictReader(io.StringIO(body.decode(), newline="")))


def read_ndjson(body: bytes) -> Rows:
    return [json.loads(line) for line in body.splitlines()]


def read_arrow(body: bytes) -> Rows:
    rows: Rows = pa.ipc.open_stream(body).read_all().to_pylist()
    return rows


def read_parquet(body: bytes) -> Rows:
    rows: Rows = pq.read_table(io.BytesIO(body)).to_pylist()
    return rows


def read_xlsx(body: bytes) -> Rows:
    header, *rows = load_workbook(io.BytesIO(body)).active.iter_rows(values_only=True)
    return [dict(zip(header, row, strict=True)) for row in rows]


READERS: Mapping[str, Callable[[bytes], Rows]] = {
    "csv": read_csv,
    "ndjson": read_ndjson,
    "arrow": read_arrow,
    "parquet": read_parquet,
    "xlsx": read_xlsx,
}


HEADERS: Mapping[str, Callable[[bytes], list[str]]] = {
    "csv": lambda body: next(csv.reader(io.StringIO(body.decode()))),
    "arrow": lambda body: pa.ipc.open_stream(body).schema.names,
    "parquet": lambda body: pq.read_table(io.BytesIO(body)).column_names,
    "xlsx": lambda body: [
        cell.value for cell in next(load_workbook(io.BytesIO(body)).active.iter_rows())
    ],
}


@pytest.fixture
def service(tmp_path: Path) -> InProcessService:
    running = start_service(tmp_path)
    running.holds(
        a_view('/a "quoted", über', visitor="u1"),
        a_view('/a "quoted", über', visitor="u2"),
        a_view("/b", visitor="u1"),
        an_outbound_click("https://x.example/p", "line\nbreak", at="2026-11-10T12:00:00.125Z"),
    )
    return running


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """A little of everything."""
    running = start_service(tmp_path_factory.mktemp("busy"))
    running.holds(a_view("/a", referrer_name="X", country="DE"), a_view("/b", visitor="u2"))
    running.holds(
        an_event("signup", properties='{"plan": "pro"}'), an_outbound_click("https://x.example/")
    )
    running.holds(an_error("boom"), a_vital("LCP", 2.5), a_click())
    return running


def standard(service: InProcessService, *parameters: str, accept: str = "", **query: str) -> Reply:
    body = {"parameters": parameters, **NOVEMBER}
    headers = {"x-api-key": service.keys["acme"], **({"accept": accept} if accept else {})}
    return request_once(
        service.app,
        "POST",
        f"/v1/query?{urlencode({'website_id': 'shop', **query})}",
        body,
        headers,
    )


def test_every_format_but_json_has_a_reader_here() -> None:
    assert set(READERS) == {format_.name for format_ in FILE_FORMATS}


@pytest.mark.parametrize("name", ["ndjson", "arrow", "parquet", "xlsx"])
def test_a_standard_answer_has_the_same_rows_in_every_format(
    service: InProcessService, name: str
) -> None:
    expected = standard(service, "top_pages").json["data"][0]["data"]

    rows = READERS[name](standard(service, "top_pages", format=name).body)

    assert [row["name"] for row in rows] == ['/a "quoted", über', "/b"]
    assert rows == expected


FORMULAS = ('=HYPERLINK("//x")', "+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "'=1")


def test_a_visitor_cannot_send_a_formula_to_who_opens_a_csv(tmp_path: Path) -> None:
    running = start_service(tmp_path)
    running.holds(*(an_event(name) for name in (*FORMULAS, "a=1", "1-1")))
    export_parameters = {"columns": "name,ts", "website_id": "shop", **NOVEMBER}

    safe = read_csv(running.ask("GET", "/v1/export/events", format="csv", **export_parameters).body)
    unescaped = running.ask(
        "GET", "/v1/export/events", format="csv", formulas="keep", **export_parameters
    )
    lines = read_ndjson(running.ask("GET", "/v1/export/events", **export_parameters).body)
    csv_rows = read_csv(standard(running, "custom_events", format="csv").body)
    refused = running.ask("GET", "/v1/export/events", formulas="off", **export_parameters)

    names = {*FORMULAS, "a=1", "1-1"}
    assert {row["name"] for row in safe} == {*(f"'{name}" for name in FORMULAS), "a=1", "1-1"}
    assert {row["name"] for row in csv_rows} == {row["name"] for row in safe}
    assert (
        {row["name"] for row in read_csv(unescaped.body)} == {row["name"] for row in lines} == names
    )
    assert refused.json["error"] == "'formulas' is 'off'; it must be text or keep"


def test_csv_begins_with_a_byte_order_mark_when_asked(service: InProcessService) -> None:
    plain = standard(service, "top_pages", format="csv").body
    marked = standard(service, "top_pages", format="csv", bom="true", formulas="keep").body
    export = service.ask(
        "GET", "/v1/export/events", format="csv", bom="true", website_id="shop", **NOVEMBER
    )
    refused = standard(service, "top_pages", format="ndjson", bom="true")
    wrong = standard(service, "top_pages", format="csv", bom="1")

    assert marked == "\ufeff".encode() + plain
    assert export.body.startswith("\ufeff".encode())
    assert refused.json["error"] == "'bom' is for format csv; the format is ndjson"
    assert wrong.json["error"] == "'bom' is '1'; it must be true or false"


def test_numbers_below_zero_stay_numbers_in_csv(service: InProcessService) -> None:
    reply = standard(service, "top_pages", format="csv", formulas="text")
    written = CsvWriter(
        [ResultColumn("n", ColumnKind.INTEGER), ResultColumn("x", ColumnKind.NUMBER)]
    ).rows([[-1, -0.5]])

    assert (reply.status, written) == (200, b"-1,-0.5\r\n")


def test_csv_quotes_what_needs_it(service: InProcessService) -> None:
    reply = standard(service, "top_pages", format="csv")

    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"] == 'attachment; filename="top_pages.csv"'
    assert reply.body.decode() == (
        'name,pageviews,visitors,percentage\r\n"/a ""quoted"", über",2,2,66.67\r\n/b,1,1,33.33\r\n'
    )


def test_instants_are_instants_where_a_format_has_them(service: InProcessService) -> None:
    [arrow] = read_arrow(standard(service, "outbound_links", format="arrow").body)
    [parquet] = read_parquet(standard(service, "outbound_links", format="parquet").body)
    [text] = read_csv(standard(service, "outbound_links", format="csv").body)

    at = datetime(2026, 11, 10, 12, 0, 0, 125_000, UTC)
    assert arrow["last_clicked"] == parquet["last_clicked"] == at
    assert text["last_clicked"] == "2026-11-10T12:00:00.125Z"
    assert arrow["text"] == text["text"] == "line\nbreak"


@pytest.mark.parametrize("name", HEADERS)
def test_an_answer_without_rows_names_its_columns(service: InProcessService, name: str) -> None:
    reply = standard(service, "error_types", format=name)

    assert HEADERS[name](reply.body) == list(QUERY_TYPES["error_types"].row.__struct_fields__)


def test_every_query_type_has_columns_of_a_known_kind() -> None:
    for query_type in QUERY_TYPES.values():
        columns = declared_columns(query_type.row)

        assert [column.name for column in columns] == [
            field.encode_name for field in fields(query_type.row)
        ], query_type.name


@pytest.mark.parametrize("name", READERS)
def test_a_format_holds_one_question(service: InProcessService, name: str) -> None:
    reply = standard(service, "top_pages", "summary", format=name)

    assert reply.status == 400
    assert reply.json["error"] == (
        f"Format '{name}' supports one query, so 'parameters' must name one query type; it names 2"
    )


def test_a_question_that_fails_is_refused_as_a_whole(service: InProcessService) -> None:
    reply = standard(service, "top_pagez", format="csv")

    assert reply.status == 400
    assert reply.json["error"] == "Unknown query type 'top_pagez'; did you mean 'top_pages'?"


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("text/html, */*;q=0.1", "application/json"),
        ("text/*", "text/csv; charset=utf-8"),
        ("text/csv;q=0.5, application/x-ndjson", "application/x-ndjson"),
        ("application/json;q=0, */*;q=0.1, text/csv", "text/csv; charset=utf-8"),
        ("APPLICATION/VND.APACHE.PARQUET", "application/vnd.apache.parquet"),
        ("application/vnd.apache.arrow.stream;q=x", "application/vnd.apache.arrow.stream"),
    ],
)
def test_accept_chooses_the_format(service: InProcessService, accept: str, media_type: str) -> None:
    reply = standard(service, "top_pages", accept=accept)

    assert reply.status == 200
    assert reply.headers["content-type"] == media_type


def test_the_name_goes_before_accept(service: InProcessService) -> None:
    reply = standard(service, "top_pages", accept="text/csv", format="ndjson")

    assert reply.headers["content-type"] == "application/x-ndjson"


def test_a_format_that_is_not_known_is_refused_with_those_that_are(
    service: InProcessService,
) -> None:
    named = standard(service, "top_pages", format="ods")
    accepted = standard(service, "top_pages", accept="application/pdf")

    assert named.status == 400
    assert named.json["error"] == (
        "'format' is 'ods'; it must be one of json, csv, ndjson, arrow, parquet, xlsx"
    )
    assert accepted.status == 406
    assert accepted.json["code"] == "NOT_ACCEPTABLE"
    assert all(format_.media_type in accepted.json["error"] for format_ in FORMATS)


@pytest.mark.parametrize("name", [format_.name for format_ in FORMATS])
def test_every_format_says_what_is_left_of_the_allowance(
    service: InProcessService, name: str
) -> None:
    reply = standard(service, "top_pages", format=name)

    assert reply.headers["x-ratelimit-limit"] == "30000"
    assert reply.headers["x-ratelimit-remaining"] == "29999"


@pytest.mark.parametrize("name", ["arrow", "parquet"])
def test_a_custom_answer_has_the_columns_that_were_asked(
    service: InProcessService, name: str
) -> None:
    query = {
        "table": "events",
        "selects": [
            {"field": "*", "aggregate": "count", "alias": "n"},
            {"field": "ts", "aggregate": "max", "alias": "last"},
            {"field": "time_on_page", "aggregate": "avg", "alias": "seconds"},
        ],
        "groupBy": ["path", "is_bot"],
        "orderBy": [{"field": "path", "direction": "asc"}],
    }
    reply = service.ask(
        "POST",
        "/v1/query/custom",
        {"query": query, **NOVEMBER},
        website_id="shop",
        format=name,
    )

    noon = datetime(2026, 11, 10, 12, tzinfo=UTC)
    there = {"is_bot": False, "last": noon, "seconds": None}
    assert READERS[name](reply.body) == [
        {"path": '/a "quoted", über', "n": 2, **there},
        {"path": "/b", "n": 1, **there},
        {"path": None, "n": 1, **there, "last": noon.replace(microsecond=125_000)},
    ]


NESTED = [
    ResultColumn("id", ColumnKind.INTEGER),
    ResultColumn("steps", ColumnKind.NESTED),
    ResultColumn("ok", ColumnKind.BOOLEAN),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "csv",
            [
                {"id": "1", "steps": '[{"a":1}]', "ok": "true"},
                dict.fromkeys(("id", "steps", "ok"), ""),
            ],
        ),
        (
            "ndjson",
            [{"id": 1, "steps": [{"a": 1}], "ok": True}, dict.fromkeys(("id", "steps", "ok"))],
        ),
        (
            "arrow",
            [{"id": 1, "steps": '[{"a":1}]', "ok": True}, dict.fromkeys(("id", "steps", "ok"))],
        ),
        (
            "parquet",
            [{"id": 1, "steps": '[{"a":1}]', "ok": True}, dict.fromkeys(("id", "steps", "ok"))],
        ),
        (
            "xlsx",
            [{"id": 1, "steps": '[{"a":1}]', "ok": True}, dict.fromkeys(("id", "steps", "ok"))],
        ),
    ],
)
def test_lists_are_json_text_where_a_format_has_none(name: str, expected: Rows) -> None:
    make = next(format_.writer for format_ in FILE_FORMATS if format_.name == name)
    assert make is not None
    rows = [(1, [{"a": 1}], True), (None, None, None)]

    with closing(make(NESTED)) as writer:
        body = writer.start() + writer.rows(rows) + b"".join(writer.end())
    assert READERS[name](body) == expected


def test_a_service_that_wrote_no_columns_has_not_loaded_pyarrow() -> None:
    # In a process of its own, because the tests write their lake with it.
    program = "import sys, query.app; print('pyarrow' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "False"


@pytest.mark.parametrize("query_type", ALL_TYPES, ids=[t.name for t in ALL_TYPES])
def test_every_query_type_is_a_table_in_every_format(
    busy: InProcessService, query_type: QueryType
) -> None:
    link = query_type.subject is SubjectKind.LINK
    query_parameters = {**(msgspec.to_builtins(query_type.example) or {}), "name": query_type.name}
    where = {"link_id": "go"} if link else {"website_id": "shop"}
    who = {"session_id": "s1", "anonymous_id": "u1"}
    filters = [{"field": n, "operator": "eq", "value": who[n]} for n in query_type.required_filters]
    body = {"parameters": [query_parameters], "filters": filters, **NOVEMBER}
    counts = set()

    for name, read in READERS.items():
        reply = busy.ask("POST", "/v1/query", body, **where, format=name)
        assert reply.status == 200, reply.body
        counts.add(len(read(reply.body)))

    expected = busy.ask("POST", "/v1/query", body, **where).json["data"][0]["data"]
    assert counts == {len(expected)}
