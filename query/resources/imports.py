"""Imports: create, list, show, delete.

Deleting an import undoes it: the maintenance worker removes its rows in one commit.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from query.engine.engine import Sql
from query.engine.snapshots import PinnedVersions
from query.resources.pagination import page_parameters
from query.resources.resource import (
    Access,
    Action,
    Call,
    Create,
    Created,
    List,
    Resource,
    Show,
    endpoints,
)
from query.response.bodies import response_types
from query.sql.fragment import merge_values
from query.sql.select import Relation, Select, render
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.plans import Group
from schemas.registry import Import, ImportState, KeyScope
from schemas.registry.validation import new_import
from schemas.runtime.clock import format_instant
from schemas.tables import EVENTS

COUNT_COLUMNS = tuple(c for c in EVENTS.columns if c.name in ("website_id", "import_id"))
MAX_MS = 2**62


class NewImport(Struct, frozen=True, rename="camel"):
    """The body that creates an import."""

    website_id: str
    name: str


class ImportResource(Struct, rename="camel"):
    """An import: items accepted and rejected so far, and rows removed when it was undone."""

    id: str
    organization_id: str
    website_id: str
    name: str
    state: ImportState
    accepted: int
    rejected: int
    removed: int
    created_at: str
    updated_at: str
    stored: Annotated[int | UnsetType, Meta(description="rows in the table")] = UNSET


def import_resource(_call: Call, import_: Import) -> ImportResource:
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
    )


async def make_import(call: Call) -> Created:
    """A new import, the target of POST /import of the collector."""
    body = await call.body(NewImport)
    website = authorize_website(call.dependencies.registry, call.key, body.website_id)
    return Created(new_import(website, body.name, call.now_ms))


def listed_imports(call: Call) -> dict[str, str | None]:
    """Imports of the organization, or those of one website."""
    website_id = call.parameters.get("websiteId") or call.key.website_id
    if website_id is not None:
        authorize_website(call.dependencies.registry, call.key, website_id)
    return {"organization_id": call.key.organization_id, "website_id": website_id}


async def undo_import(call: Call, import_: Import) -> Response:
    """DELETE /v1/imports/{id}: 202; no further items are accepted, and its rows are removed."""
    if import_.accepts_events:
        import_id, now = import_.id, call.now_ms
        import_ = await call.write(
            Import,
            lambda store: store.update(Import, import_id, now, state=ImportState.UNDOING),
        )
    return IMPORTS.respond(call, Created(import_), 202)


async def count_rows(call: Call, import_: Import) -> dict[str, int]:
    """Rows of an import in the newest version."""
    if import_.state is ImportState.UNDONE:
        return {"stored": 0}
    dependencies = call.dependencies
    engine = dependencies.standard_limiter.for_tenant(import_.organization_id)

    async def run(pinned: PinnedVersions) -> dict[str, int]:
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
        return {"stored": int(rows)}

    return await dependencies.snapshots.with_pinned([EVENTS], None, run)


MANAGES = Access((KeyScope.MANAGE_WEBSITES,), Group.LINKS)
ONE, PAGE = response_types("Import", "import", "imports", ImportResource)
IMPORTS = Resource(
    record=Import,
    path="/v1/imports",
    tag="Imports",
    word="import",
    id_name="import_id",
    shows=import_resource,
    one=ONE,
    page=PAGE,
    create=Create(
        body=NewImport,
        make=make_import,
        access=MANAGES,
        operation_id="createImport",
        summary="Create an import of historical data",
        description="Send its items to POST /import of the collector. The key needs "
        "`manage:websites`. An organization has at most 1,000 imports; undone ones do not count.",
    ),
    list=List(
        where=listed_imports,
        access=MANAGES,
        operation_id="listImports",
        summary="List imports, oldest first",
        parameters=(
            openapi.Parameter("websiteId", "only those of this website"),
            *page_parameters("imports"),
        ),
    ),
    show=Show(
        details=count_rows,
        access=MANAGES,
        operation_id="showImport",
        summary="Show an import and the number of its stored rows",
    ),
    actions=(
        Action(
            access=MANAGES,
            run=undo_import,
            method="DELETE",
            operation_id="undoImport",
            summary="Undo an import",
            description="No further items are accepted; the maintenance worker removes exactly its "
            "rows in one commit. Then its state is `undone`.",
            response=openapi.Response(202, "it is being undone", ONE),
        ),
    ),
)
ENDPOINTS = tuple(endpoints(IMPORTS))
