"""Queries of the client: query types, metrics, custom queries, exports, catalogue."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from query.client.connection import HttpClient
from query.client.errors import ServiceError, _failure, wrong_argument
from query.client.metric_terms import parse_metrics
from query.client.requests import _members, _names, _parameter, _split
from query.client.rows import Rows, _outcome, _rows_of

QueryParameter = str | Mapping[str, Any]
"""A query type by name, or a dict with `name` and its options."""
MetricTerms = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
"""Metrics in short text, as dicts of the API, or both in a list."""


class QueryClient(HttpClient):
    """Asks the query service.

    All queries take `website_id` or `link_id`, `start` and `end` or `preset`, `timezone`,
    `filters`, `limit`, `page`, `order_by`, `include_bots`, `person` and whatever
    else the request has, by its name in the API. Without an `end`, a `start` means until now.
    """

    def ask(self, types: QueryParameter | Sequence[QueryParameter], **asked: Any) -> Any:
        """The rows of one query type, or those of several by name or `id`.

        Options of a single type are arguments too: ask("funnel", steps=["/", "signup"], …).
        With `compare` rows have `previous_…`, `change_…` and `change_percent_…`. ServiceError when
        one of them failed; `each` keeps the others.
        """
        if isinstance(types, str | Mapping):
            return next(iter(self.ask([_parameter(types, asked)], **asked).values()))
        found = self.each(types, **asked)
        for outcome in found.values():
            if isinstance(outcome, ServiceError):
                raise outcome
        return found

    def each(self, types: Sequence[QueryParameter], **asked: Any) -> dict[str, Rows | ServiceError]:
        """The rows of several query types by name or `id`, or the error of each."""
        parameters = [_parameter(each, {}) for each in types]
        labels = [p if isinstance(p, str) else p.get("id", p["name"]) for p in parameters]
        if len(set(labels)) < len(labels):
            raise wrong_argument(f"two query types have one name: give them an 'id' ({labels})")
        where, body = _split(asked)
        response = self._json("POST", "/v1/query", {"parameters": parameters, **body}, where)
        return {entry["parameter"]: _outcome(entry) for entry in response["data"]}

    def metrics(self, metrics: MetricTerms, by: str | Sequence[str] = (), **asked: Any) -> Rows:
        """Metrics by dimensions: metrics("visits, conversions(Sign-up)", by="visit.channel", …).

        `metrics` is short text, or a list of texts and dicts as in the API.
        """
        where, body = _metrics(metrics, by, asked)
        return _rows_of(self._json("POST", "/v1/query/metrics", body, where))

    def custom(self, query: Mapping[str, Any], **asked: Any) -> Rows:
        """The rows of a custom query."""
        where, body = _custom(query, asked)
        return _rows_of(self._json("POST", "/v1/query/custom", body, where))

    def compile(
        self, query: QueryParameter | Sequence[QueryParameter], **asked: Any
    ) -> dict[str, Any]:
        """What a query would do: its SQL, values, tables with the rows that it would read, engine.

        Of a custom query, or of one query type as in `ask`. `prepared` says whether prepared
        results answer it, else `reason` says why not (`prepared=False` refuses them). Of several
        query types, a dict of these by name or `id`. ServiceError when one of them is wrong.
        """
        if isinstance(query, Mapping) and "name" not in query:
            where, body = _custom(query, asked)
            return _without_success(self._json("POST", "/v1/query/compile", body, where))
        if isinstance(query, str | Mapping):
            compiled = self._compiled([_parameter(query, asked)], asked)
            return next(iter(compiled.values()))
        return self._compiled([_parameter(each, {}) for each in query], asked)

    def _compiled(self, parameters: Sequence[Any], asked: Mapping[str, Any]) -> dict[str, Any]:
        where, body = _split(asked)
        request = {"parameters": parameters, **body}
        entries = self._json("POST", "/v1/query/compile", request, where)["data"]
        for entry in entries:
            if not entry["success"]:
                raise _failure(entry)
        return {entry.pop("parameter"): _without_success(entry) for entry in entries}

    def written(self, query_type: QueryParameter, format: str, **asked: Any) -> Iterator[bytes]:
        """The rows of one query type in a format: csv, ndjson, arrow or parquet."""
        parameter = _parameter(query_type, asked)
        where, body = _split({**asked, "format": format})
        return self._bytes("POST", "/v1/query", {"parameters": [parameter], **body}, where)

    def metrics_written(
        self, metrics: MetricTerms, by: str | Sequence[str], format: str, **asked: Any
    ) -> Iterator[bytes]:
        """The rows of `metrics` in a format."""
        where, body = _metrics(metrics, by, {**asked, "format": format})
        return self._bytes("POST", "/v1/query/metrics", body, where)

    def custom_written(
        self, query: Mapping[str, Any], format: str, **asked: Any
    ) -> Iterator[bytes]:
        """The rows of a custom query in a format."""
        where, body = _custom(query, {**asked, "format": format})
        return self._bytes("POST", "/v1/query/custom", body, where)

    def export(self, table: str, **asked: Any) -> Iterator[dict[str, Any]]:
        """The stored rows of a table, one by one, of any number."""
        held = b""
        for piece in self.exported(table, **{**asked, "format": "ndjson"}):
            *lines, held = (held + piece).split(b"\n")
            yield from (json.loads(line) for line in lines)

    def exported(self, table: str, **asked: Any) -> Iterator[bytes]:
        """The bytes of an export in `format`; TransferError when the response ends early."""
        where, body = _split(asked)
        return self._bytes("GET", f"/v1/export/{table}", where={**where, **body})

    def exported_person(
        self, website_id: str, visitor: str | None = None, profile: str | None = None
    ) -> Iterator[bytes]:
        """The bytes of a zip with everything about one visitor or profile."""
        given = {"website_id": website_id, "visitor": visitor, "profile": profile}
        where = {name: value for name, value in given.items() if value is not None}
        return self._bytes("GET", "/v1/person/export", where=where)

    def save(self, file: BinaryIO, table: str, **asked: Any) -> int:
        """Write an export to a file; returns its size in bytes."""
        return sum(file.write(piece) for piece in self.exported(table, **asked))

    def query_types(self) -> dict[str, Any]:
        """Every query type by name: columns, filters, options, limits."""
        listed = self._json("GET", "/v1/query/types", where={"include_meta": True})
        types: dict[str, Any] = listed["configs"]
        return types

    def tables(self) -> dict[str, Any]:
        """Tables, columns, aggregates, operators and time buckets of custom queries."""
        listed: dict[str, Any] = self._json("GET", "/v1/query/tables")
        return listed

    def metrics_catalogue(self) -> dict[str, Any]:
        """Metrics, dimensions and operators of `metrics`."""
        listed: dict[str, Any] = self._json("GET", "/v1/query/metrics")
        return listed


def _metrics(
    metrics: MetricTerms, by: str | Sequence[str], asked: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    where, body = _split(asked)
    dimensions = {"dimensions": _names(by)} if by else {}
    return where, {"metrics": parse_metrics(metrics), **dimensions, **body}


def _without_success(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "success"}


def _custom(
    query: Mapping[str, Any], asked: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    where, body = _split(asked)
    return where, {"query": _members(query), **body}
