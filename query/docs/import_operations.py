"""The operations on imports."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from query.docs.components import PageMeta
from query.docs.page_parameters import page_parameters
from query.resources.imports import NewImport
from schemas.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Malformed,
    NotFound,
    PayloadTooLarge,
    RateLimitExceeded,
    RequestTimeout,
    Unauthorized,
    Unavailable,
)
from schemas.http.openapi import Operation, Parameter, Response
from schemas.registry import ImportState

ERRORS: tuple[type[ApiError], ...] = (Unauthorized, Forbidden, RateLimitExceeded, Unavailable)

ID = Parameter("import_id", "the import", required=True, location="path")


class ImportResource(Struct, rename="camel"):
    """An import: what was taken and refused so far, and what its undoing removed."""

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
    stored: int | UnsetType = UNSET
    """Rows in the table."""


class ImportResponse(Struct):
    """One import."""

    success: Literal[True]
    data: ImportResource


class ImportListResponse(Struct):
    """One page of imports."""

    success: Literal[True]
    data: list[ImportResource]
    meta: PageMeta


IMPORT_OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/imports",
        operation_id="createImport",
        tag="Imports",
        summary="Open an import of history",
        description="Events go into it by POST /import of the collector. The key needs "
        "`manage:websites`. "
        "An organization has at most 1,000 imports; those that were undone make room.",
        body=NewImport,
        examples={},
        responses=(Response(201, "the import", ImportResponse),),
        errors=(*ERRORS, Malformed, Conflict, RequestTimeout, PayloadTooLarge),
    ),
    Operation(
        method="GET",
        path="/v1/imports",
        operation_id="listImports",
        tag="Imports",
        summary="List imports, oldest first",
        parameters=(
            Parameter("websiteId", "only those of this website"),
            *page_parameters("imports"),
        ),
        responses=(Response(200, "one page", ImportListResponse),),
        errors=(*ERRORS, Malformed),
    ),
    Operation(
        method="GET",
        path="/v1/imports/{import_id}",
        operation_id="showImport",
        tag="Imports",
        summary="Show an import, and how many rows of it are stored",
        parameters=(ID,),
        responses=(Response(200, "the import", ImportResponse),),
        errors=(*ERRORS, NotFound),
    ),
    Operation(
        method="DELETE",
        path="/v1/imports/{import_id}",
        operation_id="undoImport",
        tag="Imports",
        summary="Take an import back",
        description="Nothing more is taken for it; the keeper removes exactly its rows, at one "
        "moment. "
        "Its state says `undone` then.",
        parameters=(ID,),
        responses=(Response(202, "it is being undone", ImportResponse),),
        errors=(*ERRORS, NotFound),
    ),
)
