"""The operation on receipts."""

from typing import Literal

from msgspec import Struct

from query.resources.receipts import Fate, State
from schemas.errors import Forbidden, LimitExceeded, NotFound, Unauthorized, Unavailable
from schemas.http.openapi import Answer, Operation, Parameter


class Told(Struct, rename="camel"):
    """What became of the items of one request, in the order in which they were sent on."""

    receipt: str
    type: str
    received_at: str
    total: int
    counts: dict[State, int]
    items: list[Fate]


class ReceiptAnswer(Struct):
    """A receipt, looked up."""

    success: Literal[True]
    data: Told


RECEIPTS = (
    Operation(
        method="GET",
        path="/v1/receipts/{receipt}",
        name="lookUpReceipt",
        group="Receipts",
        meaning="Say what became of the items that a request brought",
        more="The key needs `track:events` or `read:data`, and must reach the website. Items that "
        "were refused have no place here: the collector's answer named them.",
        parameters=(
            Parameter("receipt", "as the collector gave it", required=True, within="path"),
        ),
        answers=(Answer(200, "the fate of each item", ReceiptAnswer),),
        failures=(Unauthorized, Forbidden, NotFound, LimitExceeded, Unavailable),
    ),
)
