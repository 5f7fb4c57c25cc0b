"""Queries for an output format, and readers of each format that return its rows as objects."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
from openpyxl import load_workbook

from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.query.query_service import NOVEMBER, InProcessService

Rows = list[dict[str, Any]]


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
