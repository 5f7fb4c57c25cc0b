"""Response body structs of the collector, as OpenAPI documents them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ingest.decoding.contract_drift import DriftingItem, ItemDrift, listed_drift
from ingest.decoding.decoder import RejectedItem
from ingest.decoding.ignored_members import IgnoredMembers
from ingest.decoding.ignored_parameters import IgnoredParameters
from schemas.errors import (
    ApiError,
    ContractRefused,
    Forbidden,
    Malformed,
    NoneAccepted,
    OutcomeUnknown,
    PayloadTooLarge,
    RateLimitExceeded,
    RequestTimeout,
    Unauthorized,
    Unavailable,
)

ReceiptText = Annotated[
    str,
    Meta(description="opaque token; GET /v1/receipts/{receipt} returns the status of the items"),
]

StoredFlag = (
    Annotated[bool, Meta(description="whether the items are visible to queries; only with `wait`")]
    | UnsetType
)
DroppedCount = (
    Annotated[
        int,
        Meta(
            description="number of items that are counted and not stored, by the privacy of the "
            "website; only with `wait`"
        ),
    ]
    | UnsetType
)

IgnoredList = (
    Annotated[
        list[IgnoredMembers],
        Meta(description="members that are not stored, of the first items that have any"),
    ]
    | UnsetType
)

DriftList = (
    Annotated[
        list[DriftingItem],
        Meta(
            description="stored events that differ from the contract of their website: the first "
            "ones, with the properties that differ; none of them for an event that the contract "
            "does not list"
        ),
    ]
    | UnsetType
)

AdjustedCount = (
    Annotated[
        int,
        Meta(
            description="number of items that are stored under another time than their timestamp, "
            "as it is more than 7 days before or 5 minutes after receipt; all times of a request "
            "are moved by one offset where its sender's clock is ahead or behind; also with a time "
            "on the page of more than a day, which is cut"
        ),
    ]
    | UnsetType
)


IgnoredParametersMember = (
    Annotated[
        IgnoredParameters,
        Meta(description="unknown parameters of the query string"),
    ]
    | UnsetType
)


def remarks(
    ignored: Sequence[IgnoredMembers],
    adjusted: int,
    parameters: IgnoredParameters | None = None,
    drift: Sequence[ItemDrift] = (),
) -> dict[str, object]:
    """What a response says about accepted items; empty when all is stored as it was sent."""
    members: dict[str, object] = {"ignored": ignored} if ignored else {}
    if drift:
        members["drift"] = listed_drift(drift)
    if parameters:
        members["ignoredParameters"] = parameters
    return members | {"adjusted": adjusted} if adjusted else members


class CollectErrorBody(Struct):
    """Error body; `rejected` lists every item when none was valid."""

    status: Literal["error"]
    message: str
    code: str


class CollectRateLimitBody(Struct, rename="camel"):
    """Rate limit exceeded."""

    status: Literal["error"]
    success: Literal[False]
    message: str
    error: str
    code: Literal["RATE_LIMIT_EXCEEDED"]
    limit: int
    remaining: int
    reset: str
    retry_after: int


class CollectResponse(Struct):
    """Number of accepted items; `rejected` lists the others."""

    status: Literal["success"]
    type: str
    count: int
    receipt: ReceiptText
    stored: StoredFlag = UNSET
    dropped: DroppedCount = UNSET
    rejected: list[RejectedItem] = []
    ignored: IgnoredList = UNSET
    drift: DriftList = UNSET
    ignored_parameters: IgnoredParametersMember = msgspec.field(
        name="ignoredParameters", default=UNSET
    )
    adjusted: AdjustedCount = UNSET


class ItemResult(Struct, rename="camel", omit_defaults=True):
    """Outcome of one item of a batch."""

    status: Literal["success", "error"]
    type: str | None = None
    """Type of an accepted item."""
    event_type: str | None = None
    """Type of a rejected item."""
    event_id: str | None = None
    message: str | None = None
    code: str | None = None


class CollectBatchResponse(Struct):
    """One result per item; `partial` when some were rejected."""

    status: Literal["success", "partial"]
    batch: Literal[True]
    processed: Annotated[int, Meta(description="number of accepted items")]
    batched: Annotated[dict[str, int], Meta(description="accepted items by type")]
    receipts: Annotated[dict[str, ReceiptText], Meta(description="by kind of item")]
    results: Annotated[list[ItemResult], Meta(description="in the order of the request")]
    stored: StoredFlag = UNSET
    dropped: DroppedCount = UNSET
    ignored: IgnoredList = UNSET
    drift: DriftList = UNSET
    ignored_parameters: IgnoredParametersMember = msgspec.field(
        name="ignoredParameters", default=UNSET
    )
    adjusted: AdjustedCount = UNSET


class DebugItem(Struct, rename="camel"):
    """One item or rejected request that was received for a website."""

    received_at: str
    accepted: bool
    type: str | UnsetType = UNSET
    """Kind of an item that was accepted."""
    item: dict[str, Any] | UnsetType = UNSET
    receipt: ReceiptText | UnsetType = UNSET
    address: Annotated[str, Meta(description="truncated to /24 or /48")] | UnsetType = UNSET
    user_agent: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    by_server: Annotated[bool, Meta(description="with an API key")] | UnsetType = UNSET
    count: Annotated[int, Meta(description="number of items not listed")] | UnsetType = UNSET
    dropped: (
        Annotated[str, Meta(description="why items are dropped, by the privacy of the website")]
        | UnsetType
    ) = UNSET
    path: Annotated[str, Meta(description="route that rejected the item")] | UnsetType = UNSET
    index: Annotated[int, Meta(description="index in the request")] | UnsetType = UNSET
    status: int | UnsetType = UNSET
    code: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    ignored: (
        Annotated[list[str], Meta(description="members of the item that are not stored")]
        | UnsetType
    ) = UNSET
    hint: Annotated[str, Meta(description="which fields they may mean")] | UnsetType = UNSET
    drift: (
        Annotated[str, Meta(description="how it differs from the contract of the website")]
        | UnsetType
    ) = UNSET
    stored_time: (
        Annotated[str, Meta(description="the event time, where `timestamp` does not name it")]
        | UnsetType
    ) = UNSET
    repeated: (
        Annotated[bool, Meta(description="an item listed below has the same `eventId`")] | UnsetType
    ) = UNSET


class DebugRejections(Struct, rename="camel"):
    """Items, or requests as a whole, that were rejected or differ from a contract in one way."""

    path: str
    code: str
    message: Annotated[str, Meta(description="field and rule; what was sent is not kept")]
    count: int
    first_at: str
    last_at: str


class DebugResponse(Struct, rename="camel"):
    """The last items of a website, newest first."""

    status: Literal["success"]
    website_id: str
    processes: Annotated[int, Meta(description="collector processes whose requests are listed")]
    items: list[DebugItem]
    rejections: Annotated[
        list[DebugRejections],
        Meta(description="by reason since the start of the processes, the most frequent first"),
    ]
    drifts: Annotated[
        list[DebugRejections],
        Meta(description="accepted events that differ from the contract, counted likewise"),
    ]
    warning: (
        Annotated[
            str,
            Meta(
                description="which requests are missing; a proxy whose visitors all count as one "
                "client"
            ),
        ]
        | UnsetType
    ) = UNSET


COLLECT_ERRORS: tuple[type[ApiError], ...] = (
    Malformed,
    NoneAccepted,
    ContractRefused,
    Unauthorized,
    Forbidden,
    RequestTimeout,
    PayloadTooLarge,
    RateLimitExceeded,
    Unavailable,
    OutcomeUnknown,
)
