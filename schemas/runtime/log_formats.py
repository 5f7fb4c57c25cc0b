"""The two formats of log lines: text with key=value fields, and JSON objects."""

import logging
from datetime import UTC, datetime
from typing import Any

import msgspec

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
