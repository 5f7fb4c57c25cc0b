"""The route of history, as the document shows it."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from ingest.decoding.decoder import RejectedItem
from ingest.decoding.limits import MAX_ITEMS
from ingest.endpoints.responses import COLLECT_ERRORS
from ingest.endpoints.tracker_operations import documented_item
from schemas.errors import Conflict
from schemas.http.openapi import Operation, Parameter, Response
from schemas.kinds import IMPORTED_EVENT

IMPORT_ITEM: Any = documented_item(IMPORTED_EVENT.item)


class ImportEventsResponse(Struct):
    """So many events are kept for good; `rejected` names those that are not."""

    status: Literal["success"]
    type: Literal["import"]
    count: int
    rejected: list[RejectedItem] = []


IMPORT_OPERATION = Operation(
    method="POST",
    path=IMPORTED_EVENT.path,
    operation_id="import",
    tag="History",
    summary="Send events of the past into an import",
    description=f"An array, or a line for each event (NDJSON); at most {MAX_ITEMS}. `timestamp` "
    f"is required "
    "and may be as old as 2000. Events with a `line` must come in the order of their lines, one "
    "request after the other: a line that is not above those before counts as sent already.",
    parameters=(
        Parameter(
            "import_id", "the import, made by POST /v1/imports of the query service", required=True
        ),
    ),
    body=Annotated[list[IMPORT_ITEM], Meta(min_length=1, max_length=MAX_ITEMS)],
    responses=(Response(200, "taken", ImportEventsResponse),),
    errors=(*COLLECT_ERRORS, Conflict),
)
