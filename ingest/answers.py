"""Shapes of what the collector answers, for its document."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ingest.decode import Rejected
from schemas.failures import (
    Failure,
    Forbidden,
    LimitExceeded,
    Malformed,
    NoneAccepted,
    TooLarge,
    TooSlow,
    Unauthorized,
    Unavailable,
    Unconfirmed,
)

Receipt = Annotated[
    str, Meta(description="opaque; what became of the items: GET /v1/receipts/{receipt}")
]


class Refused(Struct):
    """A refusal; `rejected` names each item when none of a batch was good."""

    status: Literal["error"]
    message: str
    code: str


class Exceeded(Struct, rename="camel"):
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


class Taken(Struct):
    """So many items are kept for good; `rejected` names those that are not."""

    status: Literal["success"]
    type: str
    count: int
    receipt: Receipt
    rejected: list[Rejected] = []


class Outcome(Struct, rename="camel", omit_defaults=True):
    """What became of one item of a batch."""

    status: Literal["success", "error"]
    type: str | None = None
    """Of an item that is kept."""
    event_type: str | None = None
    """Of one that is not."""
    event_id: str | None = None
    message: str | None = None
    code: str | None = None


class TakenBatch(Struct):
    """What became of each item; `partial` when some were not good."""

    status: Literal["success", "partial"]
    batch: Literal[True]
    processed: Annotated[int, Meta(description="items that are kept")]
    batched: Annotated[dict[str, int], Meta(description="of which type they are")]
    receipts: Annotated[dict[str, Receipt], Meta(description="by the kind of item")]
    results: Annotated[list[Outcome], Meta(description="in the order of the request")]


REFUSED: tuple[type[Failure], ...] = (
    Malformed,
    NoneAccepted,
    Unauthorized,
    Forbidden,
    TooSlow,
    TooLarge,
    LimitExceeded,
    Unavailable,
    Unconfirmed,
)
