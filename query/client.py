"""Python client in one file, standard library only (Python 3.11 or later).

Copy it, or take it from a running service: /docs/tidemark_client.py.

    client = Client("http://127.0.0.1:4001", key="tm_…", collect_url="http://127.0.0.1:4000")
    client.ask("top_pages", website_id="…", preset="last_7d")          # rows as dicts
    client.custom({"table": "events", "selects": […]}, website_id="…", preset="today").frame()

Temporary failures (429, 503, broken connections) are retried; items keep their event ids, so that
repeated ones are stored once. A rejected request raises Refused.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlencode, urlsplit

T = TypeVar("T")

MOST_ITEMS = 500
"""Items of one request to the collector."""
PIECE = 65_536
AGAIN = (429, 503)
LONGEST_PAUSE = 60.0


class Refused(Exception):
    """The service rejected the request: `status`, `code` and message."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Broken(Exception):
    """No response came, or only a part of one."""


class Rows(list[dict[str, Any]]):
    """Rows as dicts, or as a table of a library that is installed."""

    def arrow(self) -> Any:
        """As a pyarrow.Table."""
        import pyarrow

        return pyarrow.Table.from_pylist(list(self))

    def frame(self) -> Any:
        """As a data frame of pandas or, where that is not installed, of polars."""
        try:
            import pandas  # type: ignore[import-untyped]  # may not be there
        except ImportError:
            import polars

            return polars.DataFrame(list(self))
        return pandas.DataFrame(list(self))


@dataclass(frozen=True)
class Sent:
    """Accepted and rejected items."""

    count: int
    rejected: list[dict[str, Any]] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)
    """One for each request; /v1/receipts/{receipt} has the status of its items."""


@dataclass(frozen=True)
class Client:
    """Queries and sends with one API key."""

    query_url: str
    key: str | None = None
    collect_url: str | None = None
    seconds: float = 60.0
    """Timeout of one response."""
    tries: int = 5
    sleep: Callable[[float], None] = time.sleep

    def ask(self, types: str | Sequence[str], **asked: Any) -> Any:
        """The rows of one query type, or of several by name.

        Say `website_id` or `link_id`, and `start` and `end` or `preset`; all else that a request
        may hold goes by its own name. `compare` gives rows `previous_…`, `change_…` and so on.
        Refused when one of them has no answer; `each` keeps the others.
        """
        names = [types] if isinstance(types, str) else list(types)
        found = self.each(names, **asked)
        for outcome in found.values():
            if isinstance(outcome, Refused):
                raise outcome
        return found[names[0]] if isinstance(types, str) else found

    def each(self, types: Sequence[Any], **asked: Any) -> dict[str, "Rows | Refused"]:
        """The rows of several query types by name or `id`, or the error of each."""
        labels = [t if isinstance(t, str) else t.get("id", t["name"]) for t in types]
        if len(set(labels)) < len(labels):
            raise ValueError(f"two query types have one name: give them an 'id' ({labels})")
        query, body = _split(asked)
        answer = self._json("POST", f"/v1/query?{query}", {"parameters": list(types), **body})
        return {entry["parameter"]: _rows(entry) for entry in answer["data"]}

    def custom(self, query: Mapping[str, Any], **asked: Any) -> Rows:
        """The rows of a custom query."""
        subject, body = _split(asked)
        answer = self._json("POST", f"/v1/query/custom?{subject}", {"query": query, **body})
        return Rows(answer["data"])

    def export(self, table: str, **asked: Any) -> Iterator[dict[str, Any]]:
        """The stored rows of a table, one by one, of any number."""
        held = b""
        for piece in self.exported(table, **{**asked, "format": "ndjson"}):
            *lines, held = (held + piece).split(b"\n")
            yield from (json.loads(line) for line in lines)

    def exported(self, table: str, **asked: Any) -> Iterator[bytes]:
        """The bytes of an export in `format`; Broken when the response ends early."""
        query = urlencode(_flat(asked))
        target = f"/v1/export/{table}?{query}"
        return _pieces(self._tried(lambda: self._once(self.query_url, "GET", target)))

    def written(self, name: str, format: str, **asked: Any) -> Iterator[bytes]:
        """The rows of one query type in a format: csv, ndjson, arrow or parquet."""
        subject, body = _split(asked)
        target = f"/v1/query?{subject}&{urlencode({'format': format})}"
        payload = json.dumps({"parameters": [name], **body}).encode()
        return _pieces(self._tried(lambda: self._once(self.query_url, "POST", target, payload)))

    def save(self, file: BinaryIO, table: str, **asked: Any) -> int:
        """Write an export to a file; returns its size in bytes."""
        return sum(file.write(piece) for piece in self.exported(table, **asked))

    def track(
        self, events: Mapping[str, Any] | Iterable[Mapping[str, Any]], website_id: str | None = None
    ) -> Sent:
        """Send events; each gets an `eventId` unless it has one, so that a retry stores it once."""
        return self._send("/track", events, website_id)

    def vitals(self, items: Iterable[Mapping[str, Any]], website_id: str | None = None) -> Sent:
        """Send web vitals."""
        return self._send("/vitals", items, website_id)

    def errors(self, items: Iterable[Mapping[str, Any]], website_id: str | None = None) -> Sent:
        """Send reports of errors."""
        return self._send("/errors", items, website_id)

    def _send(
        self,
        path: str,
        given: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        website_id: str | None,
    ) -> Sent:
        items = [given] if isinstance(given, Mapping) else list(given)
        now = time.time_ns() // 1_000_000
        named = [{"eventId": uuid.uuid4().hex, "timestamp": now, **item} for item in items]
        target = path + (f"?{urlencode({'website_id': website_id})}" if website_id else "")
        count = 0
        rejected: list[dict[str, Any]] = []
        receipts: list[str] = []
        for start in range(0, len(named), MOST_ITEMS):
            answer = self._json("POST", target, named[start : start + MOST_ITEMS], collect=True)
            count += answer["count"]
            receipts.append(answer["receipt"])
            refused = answer.get("rejected", ())
            rejected += [{**each, "index": start + each["index"]} for each in refused]
        return Sent(count, rejected, receipts)

    def _json(self, method: str, target: str, body: object, collect: bool = False) -> Any:
        where = self.collect_url if collect else self.query_url
        if where is None:
            raise ValueError("to send, the client needs a collect_url")
        payload = json.dumps(body).encode()
        return self._tried(lambda: _whole(self._once(where, method, target, payload)))

    def _once(
        self, where: str, method: str, target: str, body: bytes | None = None
    ) -> HTTPResponse:
        """A successful response with an unread body."""
        parts = urlsplit(where)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self.seconds)
        headers = {"connection": "close"}
        if self.key:
            headers["x-api-key"] = self.key
        if body is not None:
            headers["content-type"] = "application/json"
        connection.request(method, parts.path.rstrip("/") + target, body, headers)
        answer = connection.getresponse()
        if answer.status >= 400:
            raise _refused(answer)
        return answer

    def _tried(self, once: Callable[[], T]) -> T:
        """Call `once`, with retries and exponential backoff for temporary errors."""
        for attempt in range(1, self.tries + 1):
            try:
                return once()
            except _Wait as wait:
                if attempt == self.tries:
                    raise
                self.sleep(min(wait.seconds or 0.25 * 2**attempt, LONGEST_PAUSE))
            except (HTTPException, OSError) as error:
                if attempt == self.tries:
                    raise Broken(f"no whole answer came: {error!r}") from error
                self.sleep(0.25 * 2**attempt)
        raise AssertionError("unreachable")


class _Wait(Refused):
    """A temporary error that is retried."""

    seconds: float = 0.0


def _pieces(answer: HTTPResponse) -> Iterator[bytes]:
    try:
        with answer:
            while piece := answer.read(PIECE):
                yield piece
            missing = answer.length
    except (HTTPException, OSError) as error:
        raise Broken(f"the answer broke off: {error!r}") from error
    if missing:
        raise Broken(f"the answer broke off: {missing:,} bytes are missing")


def _whole(answer: HTTPResponse) -> Any:
    with answer:
        return json.loads(answer.read())


def _refused(answer: HTTPResponse) -> Refused:
    with answer:
        text = answer.read()
    try:
        said = json.loads(text)
    except ValueError:
        said = {}
    message = said.get("error") or said.get("message") or f"status {answer.status}"
    kind = _Wait if answer.status in AGAIN else Refused
    refused = kind(answer.status, said.get("code", ""), message)
    if isinstance(refused, _Wait):
        refused.seconds = float(answer.headers.get("retry-after") or 0)
    return refused


def _rows(entry: Mapping[str, Any]) -> Rows | Refused:
    if not entry["success"]:
        return Refused(200, entry.get("code", ""), f"{entry['parameter']}: {entry['error']}")
    if "comparison" not in entry:
        return Rows(entry["data"])
    both = zip(entry["data"], entry["comparison"]["rows"], strict=True)
    return Rows({**row, **_changes(row, compared)} for row, compared in both)


def _changes(row: Mapping[str, Any], compared: Mapping[str, Any]) -> dict[str, Any]:
    previous = compared["previous"] or {}
    columns = {"previous_date": previous.get("date")} if "date" in row else {}
    for name, change in compared["change"].items():
        columns[f"previous_{name}"] = previous.get(name)
        columns[f"change_{name}"] = change
        columns[f"change_percent_{name}"] = compared["changePercent"][name]
    return columns


SUBJECTS = ("website_id", "link_id")
ASIDE = (*SUBJECTS, "formulas")
"""Arguments that go into the query string."""
NAMES = {"start": "startDate", "end": "endDate"}


def _split(asked: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The query string that names the subject, and the rest as members of the body."""
    subject = {name: asked[name] for name in ASIDE if asked.get(name) is not None}
    rest = {NAMES.get(n, n): str(v) if n in NAMES else v for n, v in asked.items() if v is not None}
    return urlencode(subject), {name: v for name, v in rest.items() if name not in ASIDE}


def _flat(asked: Mapping[str, Any]) -> dict[str, str]:
    """Arguments as a query string: columns separated by commas, filters as JSON."""
    flat = {}
    for name, value in asked.items():
        if value is None:
            continue
        if name == "columns" and not isinstance(value, str):
            value = ",".join(value)
        flat[NAMES.get(name, name)] = _text(value)
    return flat


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, default=str).strip('"')
