"""CSV is safe in spreadsheets, quoted where needed, and lists are JSON text."""

from contextlib import closing
from pathlib import Path

import pytest

from query.formats.columns import ColumnKind, ResultColumn
from query.formats.csv_ndjson import CsvWriter
from query.formats.formula_guard import guarded, unguarded
from query.formats.output_formats import FILE_FORMATS
from tests.query.formats.answer_formats import READERS, Rows, read_csv, read_ndjson, standard
from tests.query.lake import an_event
from tests.query.query_service import NOVEMBER, InProcessService, start_service

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
    guards = {name: guarded(name) for name in FORMULAS}
    assert all(text[0] == "'" and unguarded(text) == name for name, text in guards.items())
    assert {row["name"] for row in safe} == {*guards.values(), "a=1", "1-1"}
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
