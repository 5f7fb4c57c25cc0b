"""Access logs of web servers: combined text of Apache and nginx, JSON lines of Caddy and nginx.

A page view is an answered request for a page: GET with status 200 to 299 or 304, and no file of a
page, as scripts and images are. Bots are recognized later, by their user agent.
"""

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import Columns, ExportFormat

COMBINED = re.compile(
    r"(?:(?P<host>[\w.-]+\.[a-z]{2,}(?::\d+)?) )?(?P<remote_addr>[0-9A-Fa-f.:]+) \S+ \S+ "
    r'\[(?P<time_local>[^\]]+)\] "(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d{3}) \S+'
    r'(?: "(?P<http_referer>(?:[^"\\]|\\.)*)" "(?P<http_user_agent>(?:[^"\\]|\\.)*)".*)?'
)
"""The common and the combined format, also with the host before it."""
ASSET = re.compile(
    r"\.(?:avif|bmp|css|eot|gif|ico|jpe?g|js|json|map|mjs|mp[34]|otf|png|svg|ttf|txt|wasm|webm|"
    r"webmanifest|webp|woff2?|xml)$",
    re.IGNORECASE,
)
DEFAULT_PORT = re.compile(r":(?:80|443)$")
VISITOR_PARTS = "visitor_parts"
"""The column with address and user agent, of which `column_mapping.py` makes a visitor id."""
PAUSE_MS = 30 * 60_000
MAX_VISITORS = 100_000
"""Beyond them, visitors whose visit has ended are forgotten."""


def is_log(head: str) -> bool:
    """Whether the first line is one of an access log."""
    return COMBINED.match(head.lstrip().partition("\n")[0]) is not None


def parse_line(line: str) -> Mapping[str, Any] | None:
    """The columns of a line, named as nginx's variables."""
    match = COMBINED.fullmatch(line)
    return {name: cell or "" for name, cell in match.groupdict().items()} if match else None


def nginx_columns(line: Columns) -> Columns:
    """A line with the names of nginx's variables."""
    request = str(line.get("request") or "").split(" ")
    method = line.get("request_method") or request[0]
    target = line.get("request_uri") or (request[1] if len(request) > 1 else "")
    time = line.get("time_iso8601") or line.get("msec") or _local_time(line.get("time_local"))
    return _page_view(
        time,
        str(method),
        str(target),
        str(line["status"]),
        line.get("host") or line.get("http_host") or line.get("server_name"),
        parse_text(line.get("http_referer")),
        parse_text(line.get("http_user_agent")),
        parse_text(line["remote_addr"]),
    )


def caddy_columns(line: Columns) -> Columns:
    """A line of Caddy's log, which has headers as lists."""
    request = line["request"]
    headers = request.get("headers") or {}
    kind = _first(line.get("resp_headers") or {}, "Content-Type")
    if kind and not kind.startswith("text/html"):
        raise InvalidLine(f"this is no page: its type is {kind.partition(';')[0]}")
    return _page_view(
        line["ts"],
        request["method"],
        request["uri"],
        str(line["status"]),
        request.get("host"),
        _first(headers, "Referer"),
        _first(headers, "User-Agent"),
        request.get("client_ip") or request.get("remote_ip"),
    )


def _page_view(
    time: Any,
    method: str,
    target: str,
    status: str,
    host: Any,
    referrer: str | None,
    user_agent: str | None,
    address: str | None,
) -> Columns:
    path, _, query = target.partition("?")
    if method != "GET":
        raise InvalidLine(f"this is no page view: a request with {method[:20] or 'no method'}")
    if not (status.startswith("2") or status == "304"):
        raise InvalidLine(f"this is no page view: answered with {status[:3]}")
    if ASSET.search(path):
        raise InvalidLine("this is no page view: a file of a page")
    return {
        "timestamp": time,
        "event_name": "pageview",
        VISITOR_PARTS: f"{address}\0{user_agent}" if address else None,
        "host": DEFAULT_PORT.sub("", str(host)) if host else None,
        "path": path,
        "url_query": query or None,
        "referrer": None if referrer == "-" else referrer,
        "user_agent": None if user_agent == "-" else user_agent,
    }


def _local_time(cell: Any) -> str | None:
    """`01/Nov/2026:10:00:00 +0100`."""
    if not cell:
        return None
    return dt.datetime.strptime(str(cell), "%d/%b/%Y:%H:%M:%S %z").isoformat()


def _first(headers: Mapping[str, Any], name: str) -> str | None:
    values = headers.get(name) or [None]
    return values[0] if isinstance(values, list) else str(values)


class LogVisits:
    """Visits by pauses of 30 minutes, of lines that are in order of time, or nearly so."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, str]] = {}
        """Visitor → time of the last line, and visit."""

    def visit_of(self, visitor: str, ms: int) -> str:
        """The id of the visit of a line; the same again when the lines are read again."""
        last_ms, visit = self._last.get(visitor, (None, ""))
        if last_ms is None or abs(ms - last_ms) >= PAUSE_MS:
            visit = f"{visitor}.{ms}"
        if len(self._last) >= MAX_VISITORS:
            self._last = {
                name: last for name, last in self._last.items() if ms - last[0] < PAUSE_MS
            }
        self._last[visitor] = (ms, visit)
        return visit


NOTE = (
    "visitors are recognized for one day by a keyed hash of address and user agent, visits by "
    "pauses of 30 minutes"
)
FORMATS = (
    *(
        ExportFormat(
            "access log",
            frozenset(("remote_addr", "status", request)),
            nginx_columns,
            note=NOTE,
            has_log_visitors=True,
        )
        for request in ("request", "request_uri")
    ),
    ExportFormat(
        "access log (Caddy)",
        frozenset(("ts", "request", "status")),
        caddy_columns,
        note=NOTE,
        has_log_visitors=True,
    ),
)
