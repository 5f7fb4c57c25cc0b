"""OpenAPI operations: imports."""

from query.resources.imports import NewImport
from query.resources.pagination import page_parameters
from query.response.bodies import ImportListResponse, ImportResponse
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

ERRORS: tuple[type[ApiError], ...] = (Unauthorized, Forbidden, RateLimitExceeded, Unavailable)

ID = Parameter("import_id", "the import", required=True, location="path")


IMPORT_OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/imports",
        operation_id="createImport",
        tag="Imports",
        summary="Create an import of historical data",
        description="Send its items to POST /import of the collector. The key needs "
        "`manage:websites`. An organization has at most 1,000 imports; undone ones do not count.",
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
        summary="Show an import and the number of its stored rows",
        parameters=(ID,),
        responses=(Response(200, "the import", ImportResponse),),
        errors=(*ERRORS, NotFound),
    ),
    Operation(
        method="DELETE",
        path="/v1/imports/{import_id}",
        operation_id="undoImport",
        tag="Imports",
        summary="Undo an import",
        description="No further items are accepted; the maintenance worker removes exactly its "
        "rows in one commit. Then its state is `undone`.",
        parameters=(ID,),
        responses=(Response(202, "it is being undone", ImportResponse),),
        errors=(*ERRORS, NotFound),
    ),
)
