"""How every process logs: one line each, the fields of `extra` behind the message."""

import logging
from typing import Any

_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class Fields(logging.Formatter):
    """`time level logger: message key=value …`"""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        fields: dict[str, Any] = {k: v for k, v in record.__dict__.items() if k not in _OWN}
        return " ".join((line, *(f"{name}={value}" for name, value in fields.items())))


def set_up(level: str, quiet: tuple[str, ...] = ()) -> None:
    """Log to the standard error from `level` on; from `quiet` loggers warnings only."""
    handler = logging.StreamHandler()
    handler.setFormatter(Fields("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in quiet:
        logging.getLogger(name).setLevel(logging.WARNING)
