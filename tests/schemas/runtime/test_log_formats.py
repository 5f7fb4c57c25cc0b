"""A line of the JSON format is one object, whatever a record has."""

import json
import logging
import sys
from typing import Any

from schemas.runtime.log_formats import JsonFormatter
from schemas.runtime.log_setup import add_request_id
from schemas.runtime.request_id import REQUEST_ID


def line_of(message: str, *args: object, exc_info: Any = None, **fields: object) -> dict[str, Any]:
    record = logging.LogRecord("ours", logging.WARNING, __file__, 1, message, args, exc_info)
    vars(record).update(fields)
    add_request_id(record)
    text = JsonFormatter().format(record)
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_line_has_its_time_level_logger_message_and_fields() -> None:
    line = line_of("read %d\nfiles", 3, rows=7, table="events", where={(1, 2): object})

    assert line["message"] == "read 3\nfiles"
    assert (line["level"], line["logger"]) == ("WARNING", "ours")
    assert line["time"].endswith("Z")
    assert (line["rows"], line["table"]) == (7, "events")
    assert line["where"].startswith("{(1, 2):")
    assert "request_id" not in line


def test_a_field_replaces_nothing_of_the_line() -> None:
    assert line_of("stored", level="none", time="never")["level"] == "WARNING"


def test_an_exception_is_one_member() -> None:
    try:
        raise ValueError("no such day")
    except ValueError:
        line = line_of("failed", exc_info=sys.exc_info())

    assert line["exception"].endswith("ValueError: no such day")


def test_a_line_names_its_request() -> None:
    token = REQUEST_ID.set("r-1")
    try:
        assert line_of("failed")["request_id"] == "r-1"
    finally:
        REQUEST_ID.reset(token)
