"""Imports: create, list, show, delete; upload a file for one, and start it once it is checked.

Deleting an import undoes it: the maintenance worker removes its rows in one commit.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs
from starlette.responses import Response

from query.engine.engine import Sql
from query.engine.snapshots import PinnedVersion, PinnedVersions
from query.resources.import_files import receive_file, require_checked
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
from schemas.errors import Conflict, Malformed, PayloadTooLarge, RequestTimeout
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.plans import Group
from schemas.registry import Import, ImportState, KeyScope
from schemas.registry.validation import new_import
from schemas.runtime.clock import format_instant
from schemas.tables import EVENTS, IMPORTED_TOTALS

IMPORT_TABLES = (EVENTS, IMPORTED_TOTALS)
COUNT_COLUMNS = tuple(c for c in EVENTS.columns if c.name in ("website_id", "import_id"))
MAX_MS = 2**62


class NewImport(Struct, frozen=True, rename="camel"):
    """The body that creates an import."""

    website_id: str
    name: str


class ImportCheck(Struct, rename="camel"):
    """What the import of an uploaded file stores; nothing is stored by the check."""

    kind: Annotated[
        Literal["events", "totals"],
        Meta(description="totals: by day and dimension, of the table `imported_totals`"),
    ]
    product: Annotated[str, Meta(description="whose export it is")]
    recognized_by: Annotated[Sequence[str], Meta(description="the columns that identify it")]
    note: Annotated[str, Meta(description="what to know about this export; may be empty")]
    files: int
    files_left_out: Annotated[
        Sequence[str],
        Meta(description="files of a zip file that are not read or empty: 20, and how many more"),
    ]
    accepted: int
    rejected: int
    names: Annotated[
        Mapping[str, int],
        Meta(description="events by name, the 100 most frequent; rows of totals by dimension"),
    ]
    days: Annotated[
        Mapping[str, int], Meta(description="events by day (UTC); of more than 366 days by month")
    ]
    first_day: str
    last_day: str
    reasons: Annotated[
        Mapping[str, int], Meta(description="rejected lines by reason, the 20 most frequent ones")
    ]
    columns: Annotated[
        Mapping[str, str], Meta(description="columns of a file of no known product, and fields")
    ]
    ignored_columns: Sequence[str]
    facts_left_out: Annotated[
        Mapping[str, int], Meta(description="fields, and how many of their values are unreadable")
    ]
    rows: Annotated[
        Sequence[Mapping[str, Any]],
        Meta(description="the first ten events as they are sent; long values are cut; empty later"),
    ]
    imported_as: Annotated[
        str | UnsetType, Meta(description="the import of the same file that is done; only then")
    ] = UNSET


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
    fraction: Annotated[
        float | UnsetType,
        Meta(description="of the file, checked or sent, from 0 to 1; only in these states"),
    ] = UNSET
    problem: Annotated[
        str | UnsetType, Meta(description="why its file is not imported; only then")
    ] = UNSET
    check: Annotated[
        ImportCheck | UnsetType,
        Meta(description="of an uploaded file; only where one import is shown"),
    ] = UNSET
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
        fraction=_fraction(import_),
        problem=import_.upload.get("problem", UNSET),
    )


def _fraction(import_: Import) -> float | UnsetType:
    """How much of the file is checked or sent."""
    if import_.state is ImportState.CHECKING:
        return float(import_.upload.get("fraction", 0.0))
    if import_.state is not ImportState.IMPORTING:
        return UNSET
    check = import_.upload.get("check", {})
    lines: int = check.get("accepted", 0) + check.get("rejected", 0)
    sent = import_.accepted + import_.rejected
    return min(sent / lines, 1.0) if lines else 0.0


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
    if import_.can_be_undone:
        import_id, now = import_.id, call.now_ms
        import_ = await call.write(
            Import,
            lambda store: store.update(Import, import_id, now, state=ImportState.UNDOING),
        )
    return IMPORTS.respond(call, Created(import_), 202)


async def upload_file(call: Call, import_: Import) -> Response:
    """PUT /v1/imports/{id}/file: 202; the file is being checked."""
    return IMPORTS.respond(call, Created(await receive_file(call, import_)), 202)


async def start_import(call: Call, import_: Import) -> Response:
    """POST /v1/imports/{id}/start: 202; the checked file is being imported."""

    def started(current: Import) -> Import:
        require_checked(current)
        return structs.replace(current, state=ImportState.IMPORTING)

    now = call.now_ms
    import_ = await call.write(Import, lambda store: store.revise(import_, now, started))
    return IMPORTS.respond(call, Created(import_), 202)


async def import_details(call: Call, import_: Import) -> dict[str, Any]:
    """The result of the check of its file, and its rows."""
    check = import_.upload.get("check")
    checked = {} if check is None else {"check": msgspec.convert(check, ImportCheck)}
    return {**checked, **await count_rows(call, import_)}


async def count_rows(call: Call, import_: Import) -> dict[str, int]:
    """Rows of an import in the newest versions: events, or totals."""
    if import_.state is ImportState.UNDONE:
        return {"stored": 0}
    dependencies = call.dependencies
    engine = dependencies.standard_limiter.for_tenant(import_.organization_id)

    async def run(pinned: PinnedVersions) -> dict[str, int]:
        return {"stored": sum([await rows_of(pinned.of(table)) for table in IMPORT_TABLES])}

    async def rows_of(table: PinnedVersion) -> int:
        data_files = table.data_files([import_.website_id], 0, MAX_MS)
        relation = await engine.relation(table.version.with_files(data_files), COUNT_COLUMNS)
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

    return await dependencies.snapshots.with_pinned(IMPORT_TABLES, None, run)


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
        description="Upload a file for it with PUT /v1/imports/{import_id}/file, or send its items "
        "to POST /import of the collector. The key needs `manage:websites`. An organization has at "
        "most 1,000 imports; undone ones do not count.",
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
        details=import_details,
        access=MANAGES,
        operation_id="showImport",
        summary="Show an import, the check of its file and the number of its stored rows",
    ),
    actions=(
        Action(
            access=MANAGES,
            run=upload_file,
            method="PUT",
            path="/file",
            operation_id="uploadImportFile",
            summary="Upload the file of an import",
            description="The body is the file as it is: CSV, JSON lines, Parquet or an access log, "
            "also as gzip, zstd or zip, of at most TIDEMARK_UPLOAD_MB. Then the state is "
            "`checking`, and soon `checked` with the result of the check, or `failed` with the "
            "problem. An import takes one file. A file that is not started within a day is "
            "removed. 409 where no `tidemark up` runs beside the service.",
            body_media_type="application/octet-stream",
            response=openapi.Response(202, "the file is being checked", ONE),
            errors=(Malformed, RequestTimeout, PayloadTooLarge, Conflict),
        ),
        Action(
            access=MANAGES,
            run=start_import,
            path="/start",
            operation_id="startImport",
            summary="Import the uploaded file of an import that is checked",
            description="Its state is `importing`, with the fraction that is sent, then `done`, "
            "or `failed` with the problem.",
            response=openapi.Response(202, "the file is being imported", ONE),
            errors=(Conflict,),
        ),
        Action(
            access=MANAGES,
            run=undo_import,
            method="DELETE",
            operation_id="undoImport",
            summary="Undo an import",
            description="No further items are accepted; the maintenance worker removes exactly its "
            "rows in one commit, and its uploaded file is removed. Then its state is `undone`.",
            response=openapi.Response(202, "it is being undone", ONE),
        ),
    ),
)
ENDPOINTS = tuple(endpoints(IMPORTS))
