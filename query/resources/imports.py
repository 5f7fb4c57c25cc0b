"""Imports of history over HTTP: made, listed, looked at, and taken back.

An import that is deleted is undone: the keeper takes its rows out of the table, all at one moment.
"""

from collections.abc import Mapping

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.engine.engine import Sql, merge_values
from query.engine.snapshots import PinnedVersions
from query.request.body import read_json
from query.resources.pagination import list_page
from query.response.json_value import json_response
from schemas.errors import Conflict, NotFound
from schemas.http.auth import authorize_website
from schemas.plans import Group
from schemas.registry import (
    Import,
    ImportState,
    Key,
    KeyScope,
    RecordLimitReached,
    RecordNotFound,
    validation,
)
from schemas.runtime.clock import format_instant
from schemas.tables import EVENTS

COUNT_COLUMNS = tuple(c for c in EVENTS.columns if c.name in ("website_id", "import_id"))
MAX_MS = 2**62


class NewImport(Struct, frozen=True, rename="camel"):
    """The body that makes an import."""

    website_id: str
    name: str


async def create_import(desk: QueryDependencies, request: Request) -> Response:
    """POST /v1/imports: 201 with the new import, into which POST /import of the collector sends.

    409 when there are too many.
    """
    key = _authorize(desk, request)
    body = await read_json(request, NewImport)
    website = authorize_website(desk.registry, key, body.website_id)
    one = validation.new_import(website, body.name, desk.clock())
    try:
        await desk.in_registry(lambda: desk.store_for(key).create(one))
    except RecordLimitReached as full:
        raise Conflict(f"{str(full)[:1].upper()}{str(full)[1:]}") from None
    await desk.refresh_registry()
    return json_response({"success": True, "data": import_json(one)}, 201)


async def list_imports(desk: QueryDependencies, request: Request) -> Response:
    """GET /v1/imports: one page of the organization's imports, or of one website's."""
    key = _authorize(desk, request)
    website_id = request.query_params.get("websiteId") or key.website_id
    if website_id is not None:
        authorize_website(desk.registry, key, website_id)
    where = {"organization_id": key.organization_id, "website_id": website_id}
    return await list_page(desk, request, Import, where, import_json)


async def show_import(desk: QueryDependencies, request: Request) -> Response:
    """GET /v1/imports/{id}: with the rows that are stored of it."""
    key = _authorize(desk, request)
    one = await _import_of_tenant(desk, key, request)
    # All rows left before the state said so; the pinned version may be a moment older than that.
    stored = 0 if one.state is ImportState.UNDONE else await _count_rows(desk, one)
    return json_response({"success": True, "data": {**import_json(one), "stored": stored}})


async def delete_import(desk: QueryDependencies, request: Request) -> Response:
    """DELETE /v1/imports/{id}: 202; nothing more is taken, and its rows are being removed."""
    key = _authorize(desk, request)
    one = await _import_of_tenant(desk, key, request)
    if one.accepts_events:
        changes = {"state": ImportState.UNDOING}
        one = await desk.in_registry(
            lambda: desk.store_for(key).update(Import, one.id, desk.clock(), **changes)
        )
        await desk.refresh_registry()
    return json_response({"success": True, "data": import_json(one)}, 202)


def import_json(one: Import) -> Mapping[str, object]:
    """An import as answers show it."""
    return {
        "id": one.id,
        "organizationId": one.organization_id,
        "websiteId": one.website_id,
        "name": one.name,
        "state": one.state,
        "accepted": one.accepted,
        "rejected": one.rejected,
        "removed": one.removed,
        "createdAt": format_instant(one.created_at),
        "updatedAt": format_instant(one.updated_at),
    }


def _authorize(desk: QueryDependencies, request: Request) -> Key:
    return desk.authorize(request, KeyScope.MANAGE_WEBSITES, Group.LINKS)


async def _import_of_tenant(desk: QueryDependencies, key: Key, request: Request) -> Import:
    """The import of the path, from the store itself so that it is never an old one."""
    import_id = request.path_params["import_id"]
    try:
        one = await desk.in_registry(lambda: desk.store.get(Import, import_id))
    except RecordNotFound:
        one = None
    if (
        one is None
        or one.organization_id != key.organization_id
        or key.website_id not in (None, one.website_id)
    ):
        raise NotFound("No such import")
    return one


async def _count_rows(desk: QueryDependencies, one: Import) -> int:
    """Rows of an import in the newest version."""
    engine = desk.standard_limiter.for_tenant(one.organization_id)

    async def run(pinned: PinnedVersions) -> int:
        data_files = pinned.of(EVENTS).data_files(one.website_id, 0, MAX_MS)
        relation = await engine.relation(data_files, COUNT_COLUMNS)
        text = (
            f"SELECT count(*) FROM {relation.text} AS stored\n"  # noqa: S608 - every name is ours
            " WHERE website_id = $website AND import_id = $import"
        )
        values = {"website": one.website_id, "import": one.id}
        sql = Sql(text, merge_values(relation.values, values))
        ((rows,),) = await engine.rows(sql, desk.timeout_seconds)
        return int(rows)

    return await desk.snapshots.with_pinned([EVENTS], None, run)
