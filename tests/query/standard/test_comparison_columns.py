"""Comparisons in files: columns beside those of the rows."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.query.lake import a_click, a_view
from tests.query.query_service import InProcessService, reused, start_service

DAYS = {"startDate": "2026-11-10", "endDate": "2026-11-10", "compare": "previous_period"}
PAGE_COLUMNS = [
    *("name", "pageviews", "visitors", "percentage"),
    *("previous_pageviews", "change_pageviews", "change_percent_pageviews"),
    *("previous_visitors", "change_visitors", "change_percent_visitors"),
    *("previous_percentage", "change_percentage", "change_percent_percentage"),
]
PAGE_ROWS = [
    ["/both", 2, 2, 66.67, 1, 1, 100.0, 1, 1, 100.0, 100.0, -33.33, -33.33],
    ["/new", 1, 1, 33.33, None, 1, None, None, 1, None, None, None, None],
]


@reused
def service(tmp_path: Path) -> InProcessService:
    running = start_service(tmp_path)
    running.holds(
        a_view("/both", at="2026-11-09T12:00:00Z"),
        *(a_view("/both", at="2026-11-10T12:00:00Z", visitor=f"u{n}") for n in range(2)),
        a_view("/new", at="2026-11-10T12:00:00Z"),
    )
    return running


def written(service: InProcessService, parameter: str, format_: str, **subject: str) -> bytes:
    body = {"parameters": [parameter], **DAYS}
    target = subject or {"website_id": "shop"}
    reply = service.ask("POST", "/v1/query", body, format=format_, **target)
    assert reply.status == 200, reply.body
    return reply.body


def test_csv_and_ndjson_have_the_columns(service: InProcessService) -> None:
    header, *rows = csv.reader(io.StringIO(written(service, "pages", "csv").decode()))
    lines = written(service, "pages", "ndjson").splitlines()

    assert header == PAGE_COLUMNS
    assert rows == [["" if cell is None else str(cell) for cell in row] for row in PAGE_ROWS]
    assert [json.loads(line) for line in lines] == [
        dict(zip(PAGE_COLUMNS, row, strict=True)) for row in PAGE_ROWS
    ]


@pytest.mark.parametrize("format_", ["arrow", "parquet"])
def test_tables_have_the_columns_with_their_types(service: InProcessService, format_: str) -> None:
    body = written(service, "pages", format_)
    table: Any = (
        pq.read_table(io.BytesIO(body))
        if format_ == "parquet"
        else pa.ipc.open_stream(body).read_all()
    )

    assert table.column_names == PAGE_COLUMNS
    assert [list(row.values()) for row in table.to_pylist()] == PAGE_ROWS
    assert [str(table.schema.field(name).type) for name in PAGE_COLUMNS[4:7]] == [
        "int64",
        "int64",
        "double",
    ]


def test_a_series_names_the_bucket_that_it_is_compared_with(service: InProcessService) -> None:
    service.holds(a_click(at="2026-11-09T12:00:00Z"))

    lines = written(service, "link_clicks_by_day", "csv", link_id="go").decode().splitlines()

    assert lines == [
        "date,clicks,previous_date,previous_clicks,change_clicks,change_percent_clicks",
        "2026-11-10,0,2026-11-09,1,-1,-100.0",
    ]
