"""The operation on receipts."""

from typing import Literal

from msgspec import Struct

from query.resources.receipts import ItemState, ItemStatus
from schemas.errors import Forbidden, NotFound, RateLimitExceeded, Unauthorized, Unavailable
from schemas.http.openapi import Operation, Parameter, Response


class ReceiptStatus(Struct, rename="camel"):
    """What became of the items of one request, in the order in which they were sent on."""

    receipt: str
    type: str
    received_at: str
    total: int
    counts: dict[ItemState, int]
    items: list[ItemStatus]


class ReceiptResponse(Struct):
    """A receipt, looked up."""

    success: Literal[True]
    data: ReceiptStatus


RECEIPT_OPERATIONS = (
    Operation(
        method="GET",
        path="/v1/receipts/{receipt}",
        operation_id="lookUpReceipt",
        tag="Receipts",
        summary="Say what became of the items that a request brought",
        description="The key needs `track:events` or `read:data`, and must reach the website. "
        "Items that "
        "were refused have no place here: the collector's answer named them.",
        parameters=(
            Parameter("receipt", "as the collector gave it", required=True, location="path"),
        ),
        responses=(Response(200, "the fate of each item", ReceiptResponse),),
        errors=(Unauthorized, Forbidden, NotFound, RateLimitExceeded, Unavailable),
    ),
)
