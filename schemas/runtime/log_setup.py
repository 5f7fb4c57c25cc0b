"""Logging: one line per record, as text or JSON, rate-limited by place in the code.

At most one line a second is written per record kind (place in the code and exception type);
suppressed records are counted, so that repeated errors cannot fill the disk.
"""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from schemas.runtime.request_id import REQUEST_ID
from schemas.runtime.settings import Settings

_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_NOISE = frozenset(("color_message",))
"""Fields of uvicorn that repeat the message with codes of a terminal."""


class FieldFormatter(logging.Formatter):
    """`time level logger: message key=value …`"""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        return " ".join((line, *(f"{name}={value}" for name, value in _fields(record).items())))


class JsonFormatter(logging.Formatter):
    """One JSON object: `time` (UTC), `level`, `logger`, `message`, the fields, `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        instant = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            **_fields(record),
            "time": instant.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    skipped = _OWN | _NOISE
    return {name: _plain(value) for name, value in vars(record).items() if name not in skipped}


def _plain(value: object) -> object:
    """Numbers, texts and booleans as they are; the text of everything else."""
    return value if isinstance(value, str | int | float | bool | None) else str(value)


MIN_INTERVAL_SECONDS = 1.0
MAX_RECORD_KINDS = 1000

CLIENT_NOISE = (
    "Invalid HTTP request received.",
    "Unsupported upgrade request.",
    "No supported WebSocket library detected.",
    "ASGI callable returned without completing response.",
)
"""Messages of uvicorn about invalid requests, and about responses that end because the client left
or its key was revoked; they are not logged. Errors of ours are logged where they occur."""

RecordKind = tuple[object, ...]


class LogRateLimiter(logging.Filter):
    """Passes one record per kind and second; the next one has the number of suppressed ones."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._since: dict[RecordKind, float] = {}
        self._suppressed: dict[RecordKind, int] = {}
        self._last: dict[RecordKind, logging.LogRecord] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind, now = record_kind(record), self._clock()
        if now - self._since.get(kind, now - MIN_INTERVAL_SECONDS) < MIN_INTERVAL_SECONDS:
            self._last[kind] = record
            self._suppressed[kind] = self._suppressed.get(kind, 0) + 1
            return False
        if len(self._since) >= MAX_RECORD_KINDS:
            self._since.clear()
        self._since[kind] = now
        self._last.pop(kind, None)  # it would keep the frames of its exception alive
        if suppressed := self._suppressed.pop(kind, 0):
            record.suppressed = suppressed
        return True

    def suppressed_records(self, all_kinds: bool = False) -> list[logging.LogRecord]:
        """The last suppressed record of each kind that nothing followed."""
        now = self._clock()
        records = []
        for kind in list(self._suppressed):  # other threads may add to it
            if all_kinds or now - self._since.get(kind, 0.0) >= MIN_INTERVAL_SECONDS:
                suppressed, last = self._suppressed.pop(kind, 0), self._last.pop(kind, None)
                if suppressed and last:
                    last.exc_info = last.exc_text = None
                    last.suppressed = suppressed
                    records.append(last)
        return records


class RateLimitedHandler(logging.StreamHandler[Any]):
    """Writes to standard error what passes the limit, and on close the suppressed counts."""

    def __init__(self, limit: LogRateLimiter) -> None:
        super().__init__()
        self._limit = limit
        self.addFilter(is_worth_logging)
        self.addFilter(add_request_id)
        self.addFilter(limit)

    def emit(self, record: logging.LogRecord) -> None:
        for counted in self._limit.suppressed_records():
            super().emit(counted)
        super().emit(record)

    def close(self) -> None:
        for counted in self._limit.suppressed_records(all_kinds=True):
            super().emit(counted)
        super().close()


def record_kind(record: logging.LogRecord) -> RecordKind:
    """Place in the code, exception type, and table if the record has one."""
    raised = record.exc_info[0] if record.exc_info else None
    return (record.pathname, record.lineno, raised, record.__dict__.get("table"))


def is_worth_logging(record: logging.LogRecord) -> bool:
    """Whether the record is more than noise that clients can cause in uvicorn."""
    return record.name != "uvicorn.error" or not str(record.msg).startswith(CLIENT_NOISE)


def add_request_id(record: logging.LogRecord) -> bool:
    """Name the request that the record is about, if there is one."""
    if request_id := REQUEST_ID.get():
        record.request_id = request_id
    return True


def set_up_logging(settings: Settings, quiet: tuple[str, ...] = ()) -> None:
    """Log to standard error from the level on; from `quiet` loggers warnings only."""
    handler = RateLimitedHandler(LogRateLimiter())
    text = FieldFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else text)
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    for name in quiet:
        logging.getLogger(name).setLevel(logging.WARNING)


def silence(logger: str) -> None:
    """Log nothing but critical records of a client that logs every attempt; we log the outcome."""
    logging.getLogger(logger).setLevel(logging.CRITICAL)
