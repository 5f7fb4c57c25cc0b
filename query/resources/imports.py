"""Imports of history over HTTP: made, listed, looked at, and taken back.

An import that is deleted is undone: the keeper takes its rows out of the table, all at one moment.
"""

from collections.abc import Mapping

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import Desk
from query.engine.engine import PartGone, Sql, joined
from query.request.body import body_of
from query.resources.pagination import listing
from query.response.json_value import answered
from schemas.errors import Conflict, NotFound, Unavailable
from schemas.http.auth import reach_website
from schemas.plans import Group
from schemas.registry import Full, Import, ImportState, Key, Scope, Unknown, validation
from schemas.runtime.clock import iso
from schemas.tables import EVENTS

READ = tuple(c for c in EVENTS.columns if c.name in ("website_id", "import_id"))
LAST_MS = 2**62


class NewImport(Struct, frozen=True, rename="camel"):
    """The body that makes an import."""

    website_id: str
    name: str


async def create(desk: Desk, request: Request) -> Response:
    """POST /v1/imports: 201 with the new import, into which POST /import of the collector sends.

    409 when there are too many.
    """
    key = _manager(desk, request)
    body = await body_of(request, NewImport)
    website = reach_website(desk.registry, key, body.website_id)
    one = validation.new_import(website, body.name, desk.clock())
    try:
        await desk.in_registry(lambda: desk.store_for(key).create(one))
    except Full as full:
        raise Conflict(f"{str(full)[:1].upper()}{str(full)[1:]}") from None
    await desk.catch_up()
    return answered({"success": True, "data": shown(one)}, 201)


async def listed(desk: Desk, request: Request) -> Response:
    """GET /v1/imports: one page of the organization's imports, or of one website's."""
    key = _manager(desk, request)
    website_id = request.query_params.get("websiteId") or key.website_id
    if website_id is not None:
        reach_website(desk.registry, key, website_id)
    where = {"organization_id": key.organization_id, "website_id": website_id}
    return await listing(desk, request, Import, where, shown)


async def show(desk: Desk, request: Request) -> Response:
    """GET /v1/imports/{id}: with the rows that are stored of it."""
    key = _manager(desk, request)
    one = await _own(desk, key, request)
    # All rows left before the state said so; the pinned version may be a moment older than that.
    stored = 0 if one.state is ImportState.UNDONE else await _stored(desk, one)
    return answered({"success": True, "data": {**shown(one), "stored": stored}})


async def undo(desk: Desk, request: Request) -> Response:
    """DELETE /v1/imports/{id}: 202; nothing more is taken, and its rows are being removed."""
    key = _manager(desk, request)
    one = await _own(desk, key, request)
    if one.takes:
        changes = {"state": ImportState.UNDOING}
        one = await desk.in_registry(
            lambda: desk.store_for(key).update(Import, one.id, desk.clock(), **changes)
        )
        await desk.catch_up()
    return answered({"success": True, "data": shown(one)}, 202)


def shown(one: Import) -> Mapping[str, object]:
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
        "createdAt": iso(one.created_at),
        "updatedAt": iso(one.updated_at),
    }


def _manager(desk: Desk, request: Request) -> Key:
    return desk.admit(request, Scope.MANAGE_WEBSITES, Group.LINKS)


async def _own(desk: Desk, key: Key, request: Request) -> Import:
    """The import of the path, from the store itself so that it is never an old one."""
    import_id = request.path_params["import_id"]
    try:
        one = await desk.in_registry(lambda: desk.store.get(Import, import_id))
    except Unknown:
        one = None
    if (
        one is None
        or one.organization_id != key.organization_id
        or key.website_id not in (None, one.website_id)
    ):
        raise NotFound("No such import")
    return one


async def _stored(desk: Desk, one: Import) -> int:
    """Rows of an import in the newest version; once more when its parts were replaced meanwhile."""
    for anew in (False, True):
        pinned = await desk.shelf.pin(EVENTS, anew)
        parts = pinned.parts(one.website_id, 0, LAST_MS)
        lane = desk.standard.of(one.organization_id)
        relation = await lane.relation(parts, READ)
        text = (
            f"SELECT count(*) FROM {relation.text} AS stored\n"  # noqa: S608 - every name is ours
            " WHERE website_id = $website AND import_id = $import"
        )
        values = {"website": one.website_id, "import": one.id}
        try:
            ((rows,),) = await lane.rows(Sql(text, joined(relation.values, values)), desk.seconds)
        except PartGone:
            continue
        return int(rows)
    raise Unavailable("The stored data cannot be read at the moment")
