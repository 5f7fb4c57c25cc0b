"""GET /v1/person/export: everything about one visitor or profile, as a zip of all tables.

Of each table there are JSON lines and CSV, without bounds on time and with bots; `about.json` says
what was asked and how many rows there are. Tables are read one after the other and sent as they are
read; only the CSV of the current table waits in a temporary file.
"""

import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, closing
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec
from msgspec import structs
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.export.endpoint import still_allowed
from query.export.request import EXPORT_TABLES, PreparedExport, parse_export
from query.export.slices import export_batches
from query.formats.columns import COLUMN_KINDS, ResultColumn
from query.formats.output_formats import CSV, NDJSON, Format
from query.formats.streamed_response import StreamedResponse
from query.request.query_string import check_query_string
from query.request.subject import SubjectKind, authorized_subject
from query.scope.profiles import PROFILE_FIELD
from query.scope.visitor_sets import all_time
from schemas.errors import Malformed
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import KeyScope
from schemas.runtime.clock import format_instant
from schemas.tables.column import WEBSITE_COLUMN

VISITOR_COLUMN, PROFILE_COLUMN = "anonymous_id", "profile_id"
ZIP = Format("zip", "application/zip", "zip", "a zip with files of all tables", None)
MEMORY_BYTES = 2**20
"""CSV of a table up to which it waits in memory."""


class ZipOutput:
    """What a zip file is written to, and taken out of as it grows."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes, /) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def take(self) -> bytes:
        """What was written since the last call."""
        taken, self._pieces = b"".join(self._pieces), []
        return taken


class ZipResponse(StreamedResponse):
    """A zip, sent as it is made."""

    def __init__(
        self, name: str, pieces: AsyncGenerator[bytes, None], allowed: Callable[[], bool]
    ) -> None:
        super().__init__(ZIP, name, (), _no_batches(), allowed)
        self._pieces = pieces


async def _no_batches() -> AsyncGenerator[Any, None]:
    return
    yield


async def export_person(dependencies: QueryDependencies, request: Request) -> Response:
    """Stream all rows of a visitor or a profile."""
    key = await dependencies.authorize(request, KeyScope.READ_DATA, Group.CUSTOM)
    check_query_string(request, ENDPOINTS[0].operation)
    subject = authorized_subject(dependencies, key, request)
    if subject.kind is not SubjectKind.WEBSITE:
        raise Malformed("A person is exported of a website; give 'website_id'")
    selector, value = _selected(request.query_params)
    now = dependencies.clock()
    exports: dict[str, PreparedExport] = {}
    for name, filters in _filters_by_table(selector, value):
        wanted = QueryParams(
            {"filters": filters, "preset": "last_30d", "include_bots": "true", "timezone": "UTC"}
        )
        export = parse_export(name, wanted, now, subject, key)
        query = structs.replace(export.query, time_range=all_time("UTC"))
        exports[name] = structs.replace(export, query=query)
    about = {"websites": subject.ids, selector: value, "exportedAt": format_instant(now)}

    async def pieces() -> AsyncGenerator[bytes, None]:
        with dependencies.export_limiter.slot(key.organization_id):
            async with aclosing(_zip(dependencies, exports, about)) as zipped:
                async for piece in zipped:
                    yield piece

    return ZipResponse("person", pieces(), still_allowed(dependencies, request))


def _selected(params: QueryParams) -> tuple[str, str]:
    named = [(name, params[name]) for name in ("visitor", "profile") if params.get(name)]
    if len(named) != 1:
        raise Malformed("Give either 'visitor', an anonymous id, or 'profile' in the query string")
    return named[0]


def _filters_by_table(selector: str, value: str) -> Iterator[tuple[str, str]]:
    """The tables with visitors of websites, with the filter of the person's rows as JSON."""
    for name, table in EXPORT_TABLES.items():
        fields = table.fields
        is_stored = not table.is_computed and not table.where
        if not is_stored or table.table.subject_column != WEBSITE_COLUMN.name:
            continue
        names = (VISITOR_COLUMN,) if selector == "visitor" else (PROFILE_COLUMN, PROFILE_FIELD)
        conditions = [
            {"field": field, "operator": "eq", "value": value} for field in names if field in fields
        ]
        filters: list[object] = [{"or": conditions}]
        if selector == "profile" and PROFILE_COLUMN in fields:  # a shared device has others
            is_null = {"field": PROFILE_COLUMN, "operator": "is_null"}
            filters.append(
                {"or": [is_null, *(c for c in conditions if c["field"] == PROFILE_COLUMN)]}
            )
        if conditions:
            yield name, msgspec.json.encode(filters).decode()


async def _zip(
    dependencies: QueryDependencies,
    exports: Mapping[str, PreparedExport],
    about: Mapping[str, object],
) -> AsyncGenerator[bytes, None]:
    buffer, counts = ZipOutput(), {}
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, export in exports.items():
            counts[name] = 0
            with tempfile.SpooledTemporaryFile(MEMORY_BYTES) as csv:
                async with aclosing(_lines(dependencies, export, csv)) as lines:
                    with archive.open(f"{name}.ndjson", "w", force_zip64=True) as entry:
                        async for rows, piece in lines:
                            counts[name] += rows
                            entry.write(piece)
                            if taken := buffer.take():
                                yield taken
                csv.seek(0)
                with archive.open(f"{name}.csv", "w", force_zip64=True) as entry:
                    while piece := csv.read(MEMORY_BYTES):
                        entry.write(piece)
                        yield buffer.take()
        text = msgspec.json.format(msgspec.json.encode({**about, "rows": counts}), indent=2)
        archive.writestr("about.json", text)
    yield buffer.take()


async def _lines(
    dependencies: QueryDependencies, export: PreparedExport, csv: IO[bytes]
) -> AsyncGenerator[tuple[int, bytes], None]:
    """The number of rows of each batch and their JSON lines; the same rows are written as CSV."""
    columns = [ResultColumn(column.name, COLUMN_KINDS[column.type]) for column in export.columns]
    assert NDJSON.writer is not None  # noqa: S101 - for the type checker: both are tables
    assert CSV.writer is not None  # noqa: S101
    with closing(NDJSON.writer(columns)) as lines, closing(CSV.writer(columns)) as table:
        csv.write(table.start())
        yield 0, lines.start()
        async with aclosing(export_batches(dependencies, export)) as batches:
            async for batch in batches:
                csv.write(table.rows(batch))
                yield len(batch), lines.rows(batch)
        for piece in table.end():
            csv.write(piece)
        for piece in lines.end():
            yield 0, piece


ENDPOINTS = (
    QueryEndpoint(
        export_person,
        openapi.Operation(
            method="GET",
            path="/v1/person/export",
            operation_id="exportPerson",
            tag="Queries",
            summary="Export everything about one visitor or profile",
            description="A zip with JSON lines and CSV of each table, of all time and with bot "
            "traffic, and `about.json` with the number of rows. Of a profile: rows with this "
            "profile id, and rows without one of the visitors that were identified with it last. "
            "If the connection closes early, the zip is incomplete.",
            parameters=(
                openapi.Parameter("website_id", "the website", required=True),
                openapi.Parameter("visitor", "an anonymous id; either this or profile"),
                openapi.Parameter("profile", "a profile id"),
            ),
            responses=(openapi.Response(200, "a zip", None, (ZIP.media_type,)),),
            errors=QUERY_ERRORS,
        ),
    ),
)
