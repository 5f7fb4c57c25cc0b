"""Requests of an export, and its lines."""

import json
from typing import Any

from query.formats.output_formats import FILE_FORMATS
from tests.query.query_service import NOVEMBER, InProcessService

START_US = 1_794_268_800_000_000
"""2026-11-10T00:00:00Z"""


CSV = next(format_ for format_ in FILE_FORMATS if format_.name == "csv")


def exported(
    service: InProcessService, table: str = "events", key: str = "acme", **query: str
) -> Any:
    parameters = {"website_id": "shop", **NOVEMBER, **query}
    return service.ask("GET", f"/v1/export/{table}", None, key, **parameters)


def lines(body: bytes) -> list[Any]:
    return [json.loads(line) for line in body.splitlines()]
