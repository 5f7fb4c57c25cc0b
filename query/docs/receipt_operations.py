"""OpenAPI operation: receipts."""

from query.resources.receipts import ReceiptResponse
from schemas.errors import Forbidden, NotFound, RateLimitExceeded, Unauthorized, Unavailable
from schemas.http.openapi import Operation, Parameter, Response

RECEIPT_OPERATIONS = (
    Operation(
        method="GET",
        path="/v1/receipts/{receipt}",
        operation_id="lookUpReceipt",
        tag="Receipts",
        summary="Show the status of the items of a request",
        description="The key needs `track:events` or `read:data`, and access to the website. "
        "Rejected items are not included: the response of the collector named them.",
        parameters=(
            Parameter(
                "receipt",
                "receipt from a response of the collector",
                required=True,
                location="path",
            ),
        ),
        responses=(Response(200, "status of each item", ReceiptResponse),),
        errors=(Unauthorized, Forbidden, NotFound, RateLimitExceeded, Unavailable),
    ),
)
