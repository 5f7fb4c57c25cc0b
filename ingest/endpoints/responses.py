"""Shapes of what the collector answers, for its document."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from ingest.decoding.decoder import RejectedItem
from schemas.errors import (
    ApiError,
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
    str, Meta(description="opaque; what became of the items: GET /v1/receipts/{receipt}")
]

StoredFlag = (
    Annotated[bool, Meta(description="whether they can be asked for; only when `wait` was given")]
    | UnsetType
)


class CollectErrorBody(Struct):
    """A refusal; `rejected` names each item when none of a batch was good."""

    status: Literal["error"]
    message: str
    code: str


class CollectRateLimitBody(Struct, rename="camel"):
    """The allowance of this window is used up."""

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
    """So many items are kept for good; `rejected` names those that are not."""

    status: Literal["success"]
    type: str
    count: int
    receipt: ReceiptText
    stored: StoredFlag = UNSET
    rejected: list[RejectedItem] = []


class ItemResult(Struct, rename="camel", omit_defaults=True):
    """What became of one item of a batch."""

    status: Literal["success", "error"]
    type: str | None = None
    """Of an item that is kept."""
    event_type: str | None = None
    """Of one that is not."""
    event_id: str | None = None
    message: str | None = None
    code: str | None = None


class CollectBatchResponse(Struct):
    """What became of each item; `partial` when some were not good."""

    status: Literal["success", "partial"]
    batch: Literal[True]
    processed: Annotated[int, Meta(description="items that are kept")]
    batched: Annotated[dict[str, int], Meta(description="of which type they are")]
    receipts: Annotated[dict[str, ReceiptText], Meta(description="by the kind of item")]
    results: Annotated[list[ItemResult], Meta(description="in the order of the request")]
    stored: StoredFlag = UNSET


class DebugItem(Struct, rename="camel"):
    """One item, or one request, that a website's trackers sent."""

    received_at: str
    accepted: bool
    type: str | UnsetType = UNSET
    """Kind of an item that was accepted."""
    item: dict[str, Any] | UnsetType = UNSET
    receipt: ReceiptText | UnsetType = UNSET
    address: Annotated[str, Meta(description="cut to /24 or /48")] | UnsetType = UNSET
    user_agent: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    by_server: Annotated[bool, Meta(description="with an API key")] | UnsetType = UNSET
    count: Annotated[int, Meta(description="items that are not shown")] | UnsetType = UNSET
    path: Annotated[str, Meta(description="route that refused")] | UnsetType = UNSET
    index: Annotated[int, Meta(description="place in the request")] | UnsetType = UNSET
    status: int | UnsetType = UNSET
    code: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class DebugResponse(Struct, rename="camel"):
    """The last items of a website, the newest first."""

    status: Literal["success"]
    website_id: str
    items: list[DebugItem]


COLLECT_ERRORS: tuple[type[ApiError], ...] = (
    Malformed,
    NoneAccepted,
    Unauthorized,
    Forbidden,
    RequestTimeout,
    PayloadTooLarge,
    RateLimitExceeded,
    Unavailable,
    OutcomeUnknown,
)
