"""Repeated records and client noise cannot fill the log."""

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from schemas.runtime.log_setup import (
    FieldFormatter,
    JsonFormatter,
    LogRateLimiter,
    RateLimitedHandler,
    add_request_id,
)
from schemas.runtime.request_id import REQUEST_ID


class Log:
    """A logger behind the limit, with a clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0
        self.out = io.StringIO()
        self.handler = RateLimitedHandler(LogRateLimiter(lambda: self.now))
        self.handler.setStream(self.out)
        self.handler.setFormatter(FieldFormatter("%(levelname)s %(name)s: %(message)s"))

    def of(self, name: str) -> logging.Logger:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [self.handler], False
        logger.setLevel(logging.DEBUG)
        return logger

    @property
    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()


@pytest.fixture
def log() -> Iterator[Log]:
    captured = Log()
    yield captured
    for name in ("uvicorn.error", "test.ours"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
        logging.getLogger(name).setLevel(logging.NOTSET)


def test_repeated_records_are_one_line_a_second_with_a_count(log: Log) -> None:
    ours = log.of("test.ours")

    for second in (0, 0, 0, 1.5, 1.6):
        log.now = 100 + second
        ours.warning("heartbeat not written", extra={"reason": "full"})

    assert log.lines == [
        "WARNING test.ours: heartbeat not written reason=full",
        "WARNING test.ours: heartbeat not written reason=full suppressed=2",
    ]


def test_suppressed_records_are_counted_when_they_stop(log: Log) -> None:
    ours = log.of("test.ours")
    for number in range(4):
        ours.error("refused %d", number)

    log.now += 5
    ours.info("another kind")
    for number in range(4, 6):
        ours.warning("slow %d", number)
    log.handler.close()

    assert log.lines == [
        "ERROR test.ours: refused 0",
        "ERROR test.ours: refused 3 suppressed=3",
        "INFO test.ours: another kind",
        "WARNING test.ours: slow 4",
        "WARNING test.ours: slow 5 suppressed=1",
    ]


def test_each_table_and_each_exception_is_limited_separately(log: Log) -> None:
    ours = log.of("test.ours")
    for table in ("events", "vitals", "events"):
        ours.warning("chore failed", extra={"table": table})
    for raised in (ValueError("a"), OverflowError("b"), ValueError("c")):
        ours.error("failed", exc_info=raised)

    text = log.out.getvalue()
    assert [line for line in log.lines if "chore" in line] == [
        "WARNING test.ours: chore failed table=events",
        "WARNING test.ours: chore failed table=vitals",
    ]
    assert ("ValueError: a" in text, "OverflowError: b" in text) == (True, True)
    assert "ValueError: c" not in text


def test_invalid_requests_are_not_logged(log: Log) -> None:
    uvicorn = log.of("uvicorn.error")

    uvicorn.warning("Invalid HTTP request received.")
    uvicorn.warning("Unsupported upgrade request.")
    uvicorn.warning("No supported WebSocket library detected. Please use …")
    uvicorn.error("ASGI callable returned without completing response.")  # its key was revoked
    uvicorn.error("Exception in ASGI application")

    assert log.lines == ["ERROR uvicorn.error: Exception in ASGI application"]


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
