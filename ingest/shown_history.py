"""The route of history, as the document shows it."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from ingest.decoding.decoder import Rejected
from ingest.decoding.limits import ITEMS
from ingest.endpoints.responses import REFUSED
from ingest.endpoints.tracker_operations import shown
from schemas.errors import Conflict
from schemas.http.openapi import Answer, Operation, Parameter
from schemas.kinds import HISTORY

EVENT: Any = shown(HISTORY.item)


class Imported(Struct):
    """So many events are kept for good; `rejected` names those that are not."""

    status: Literal["success"]
    type: Literal["import"]
    count: int
    rejected: list[Rejected] = []


IMPORT = Operation(
    method="POST",
    path=HISTORY.path,
    name="import",
    group="History",
    meaning="Send events of the past into an import",
    more=f"An array, or a line for each event (NDJSON); at most {ITEMS}. `timestamp` is required "
    "and may be as old as 2000. Events with a `line` must come in the order of their lines, one "
    "request after the other: a line that is not above those before counts as sent already.",
    parameters=(
        Parameter(
            "import_id", "the import, made by POST /v1/imports of the query service", required=True
        ),
    ),
    body=Annotated[list[EVENT], Meta(min_length=1, max_length=ITEMS)],
    answers=(Answer(200, "taken", Imported),),
    failures=(*REFUSED, Conflict),
)
