"""Imports: create, list, show, delete.

Deleting an import undoes it: the maintenance worker removes its rows in one commit.
"""

from msgspec import UNSET, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.engine.engine import Sql
from query.engine.snapshots import PinnedVersions
from query.request.body import read_json
from query.request.query_string import strict_query_string
from query.resources.pagination import list_page, page_parameters
from query.resources.record_access import read_record, write_record
from query.response.bodies import ImportListResponse, ImportResource, ImportResponse
from query.response.json_response import json_response
from query.sql.fragment import merge_values
from query.sql.select import Relation, Select, render
from schemas.errors import Conflict, Malformed, NotFound
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.plans import Group
from schemas.registry import (
    Import,
    ImportState,
    Key,
    KeyScope,
    validation,
)
from schemas.runtime.clock import format_instant
from schemas.tables import EVENTS

COUNT_COLUMNS = tuple(c for c in EVENTS.columns if c.name in ("website_id", "import_id"))
MAX_MS = 2**62


class NewImport(Struct, frozen=True, rename="camel"):
    """The body that creates an import."""

    website_id: str
    name: str


async def create_import(dependencies: QueryDependencies, request: Request) -> Response:
    """POST /v1/imports: 201 with the new import, the target of POST /import of the collector.

    409 when there are too many.
    """
    key = await _authorize(dependencies, request)
    body = await read_json(request, NewImport)
    website = authorize_website(dependencies.registry, key, body.website_id)
    import_ = validation.new_import(website, body.name, dependencies.clock())
    store = dependencies.store_for(key)
    await write_record(dependencies, Import, lambda: store.create(import_))
    return _import_response(import_resource(import_), 201)


async def list_imports(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/imports: one page of the organization's imports, or of one website's."""
    key = await _authorize(dependencies, request)
    website_id = request.query_params.get("websiteId") or key.website_id
    if website_id is not None:
        authorize_website(dependencies.registry, key, website_id)
    where = {"organization_id": key.organization_id, "website_id": website_id}
    return await list_page(dependencies, request, Import, where, import_resource)


async def show_import(dependencies: QueryDependencies, request: Request) -> Response:
    """GET /v1/imports/{id}: an import with the number of its stored rows."""
    key = await _authorize(dependencies, request)
    import_ = await _import_of_tenant(dependencies, key, request)
    stored = 0 if import_.state is ImportState.UNDONE else await _count_rows(dependencies, import_)
    return _import_response(import_resource(import_, stored))


async def delete_import(dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE /v1/imports/{id}: 202; no further items are accepted, and its rows are removed."""
    key = await _authorize(dependencies, request)
    import_ = await _import_of_tenant(dependencies, key, request)
    if import_.accepts_events:
        store, import_id, now = dependencies.store_for(key), import_.id, dependencies.clock()
        import_ = await write_record(
            dependencies,
            Import,
            lambda: store.update(Import, import_id, now, state=ImportState.UNDOING),
        )
    return _import_response(import_resource(import_), 202)


def import_resource(import_: Import, stored: int | UnsetType = UNSET) -> ImportResource:
    """An import as responses show it."""
    return ImportResource(
        id=import_.id,
        organization_id=import_.organization_id,
        website_id=import_.website_id,
        name=import_.name,
        state=import_.state,
        accepted=import_.accepted,
        rejected=import_.rejected,
        removed=import_.removed,
        created_at=str(format_instant(import_.created_at)),
        updated_at=str(format_instant(import_.updated_at)),
        stored=stored,
    )


def _import_response(resource: ImportResource, status: int = 200) -> Response:
    return json_response(ImportResponse(success=True, data=resource), status)


async def _authorize(dependencies: QueryDependencies, request: Request) -> Key:
    return await dependencies.authorize(request, KeyScope.MANAGE_WEBSITES, Group.LINKS)


async def _import_of_tenant(dependencies: QueryDependencies, key: Key, request: Request) -> Import:
    return await read_record(dependencies, key, Import, request.path_params["import_id"])


async def _count_rows(dependencies: QueryDependencies, import_: Import) -> int:
    """Rows of an import in the newest version."""
    engine = dependencies.standard_limiter.for_tenant(import_.organization_id)

    async def run(pinned: PinnedVersions) -> int:
        events = pinned.of(EVENTS)
        data_files = events.data_files([import_.website_id], 0, MAX_MS)
        relation = await engine.relation(events.version.with_files(data_files), COUNT_COLUMNS)
        rows_of_import = Relation(
            name="rows_of_import",
            source=relation.text,
            columns=("website_id",),
            conditions=("website_id = $website", "import_id = $import"),
        )
        select = Select(relations=(rows_of_import,), body="SELECT COUNT(*) FROM rows_of_import")
        values = {"website": import_.website_id, "import": import_.id}
        sql = Sql(render(select, engine.dialect), merge_values(relation.values, values))
        ((rows,),) = await engine.rows(sql, dependencies.timeout_seconds)
        return int(rows)

    return await dependencies.snapshots.with_pinned([EVENTS], None, run)


ID_PARAMETER = openapi.Parameter("import_id", "the import", required=True, location="path")

_ENDPOINTS = (
    QueryEndpoint(
        create_import,
        openapi.Operation(
            method="POST",
            path="/v1/imports",
            operation_id="createImport",
            tag="Imports",
            summary="Create an import of historical data",
            description="Send its items to POST /import of the collector. The key needs "
            "`manage:websites`. An organization has at most 1,000 imports; undone ones do not "
            "count.",
            body=NewImport,
            examples={},
            responses=(openapi.Response(201, "the import", ImportResponse),),
            errors=(*KEY_ERRORS, *BODY_ERRORS, Conflict),
        ),
    ),
    QueryEndpoint(
        list_imports,
        openapi.Operation(
            method="GET",
            path="/v1/imports",
            operation_id="listImports",
            tag="Imports",
            summary="List imports, oldest first",
            parameters=(
                openapi.Parameter("websiteId", "only those of this website"),
                *page_parameters("imports"),
            ),
            responses=(openapi.Response(200, "one page", ImportListResponse),),
            errors=(*KEY_ERRORS, Malformed),
        ),
    ),
    QueryEndpoint(
        show_import,
        openapi.Operation(
            method="GET",
            path="/v1/imports/{import_id}",
            operation_id="showImport",
            tag="Imports",
            summary="Show an import and the number of its stored rows",
            parameters=(ID_PARAMETER,),
            responses=(openapi.Response(200, "the import", ImportResponse),),
            errors=(*KEY_ERRORS, NotFound),
        ),
    ),
    QueryEndpoint(
        delete_import,
        openapi.Operation(
            method="DELETE",
            path="/v1/imports/{import_id}",
            operation_id="undoImport",
            tag="Imports",
            summary="Undo an import",
            description="No further items are accepted; the maintenance worker removes exactly its "
            "rows in one commit. Then its state is `undone`.",
            parameters=(ID_PARAMETER,),
            responses=(openapi.Response(202, "it is being undone", ImportResponse),),
            errors=(*KEY_ERRORS, NotFound),
        ),
    ),
)
ENDPOINTS = tuple(map(strict_query_string, _ENDPOINTS))
