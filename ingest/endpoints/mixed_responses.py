"""What is answered for items of several shapes: by item, by what Kafka acknowledged."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ingest.decoding.decoder import RejectedItem, none_accepted_error
from ingest.decoding.items_by_kind import ItemsByKind
from schemas.errors import ApiError, NoneAccepted, OutcomeUnknown, PayloadTooLarge

PARTIAL_MESSAGE = (
    "Kafka has some of the items only; 'results' says which. Items with an eventId may be sent "
    "again, those that are kept count once"
)


class MixedResult(Struct, frozen=True):
    """What became of a request."""

    items: ItemsByKind
    receipts: Mapping[str, str]
    """By the name of the kind that Kafka has acknowledged."""
    errors: Mapping[str, ApiError]
    """By the name of the kind that it has not."""

    @property
    def accepted_indexes(self) -> list[int]:
        """The places of the items that Kafka has."""
        told = self.items.summaries
        return [i for i in range(len(told)) if self.rejection(i) is None]

    def rejection(self, index: int) -> RejectedItem | None:
        """Why an item is not kept."""
        if index in self.items.rejected:
            return self.items.rejected[index]
        failure = self.errors.get(self.items.summaries[index].kind or "")
        return None if failure is None else RejectedItem(index, failure.code, failure.message)


def single_body(result: MixedResult) -> dict[str, Any]:
    """Of a request with one item."""
    told = result.items.summaries[0]
    return {"status": "success", "type": told.type, "count": 1, **receipt_member(result)}


def events_body(result: MixedResult) -> dict[str, Any]:
    """Of a request with items of one shape."""
    rejected = [result.items.rejected[i] for i in sorted(result.items.rejected)]
    body = {"status": "success", "type": "custom_event", "count": len(result.accepted_indexes)}
    return {**body, **receipt_member(result), **({"rejected": rejected} if rejected else {})}


def batch_body(result: MixedResult) -> dict[str, Any]:
    """Of a request with items of any shape."""
    status = "success" if len(result.accepted_indexes) == len(result.items.summaries) else "partial"
    return {"status": status, **item_details(result)}


def receipt_member(result: MixedResult) -> dict[str, str]:
    """The receipt of items of one kind."""
    [given] = result.receipts.values()
    return {"receipt": given}


def no_details(result: MixedResult) -> dict[str, Any]:  # noqa: ARG001
    """What a failure's body says besides."""
    return {}


def item_details(result: MixedResult) -> dict[str, Any]:
    """What became of each item, also in the body of a failure."""
    kept = [result.items.summaries[i].type for i in result.accepted_indexes]
    return {
        "batch": True,
        "processed": len(kept),
        "batched": {type_: kept.count(type_) for type_ in dict.fromkeys(kept)},
        "receipts": dict(result.receipts),
        "results": [_item_result(result, index) for index in range(len(result.items.summaries))],
    }


def _item_result(result: MixedResult, index: int) -> dict[str, Any]:
    told, trouble = result.items.summaries[index], result.rejection(index)
    own = {} if told.event_id is None else {"eventId": told.event_id}
    if trouble is None:
        return {"status": "success", "type": told.type, **own}
    said = {"status": "error", "message": trouble.message, "code": trouble.code}
    return {**said, "eventType": told.type, **own}


def request_error(result: MixedResult, more: Mapping[str, Any]) -> ApiError | None:
    """The refusal of a request; None when it was taken, as far as its items are good."""
    if not result.errors and result.receipts:
        return None
    if not result.errors:
        rejected = [result.items.rejected[i] for i in sorted(result.items.rejected)]
        return NoneAccepted(none_accepted_error(rejected).message, rejected=rejected, **more)
    worst = max(result.errors.values(), key=_retry_rank)
    if result.receipts:
        return OutcomeUnknown(PARTIAL_MESSAGE, **more)
    worst.details.update(more)
    return worst


def _retry_rank(failure: ApiError) -> int:
    """What may be sent again is said first: of that nothing is lost."""
    return (
        2
        if isinstance(failure, OutcomeUnknown)
        else 0
        if isinstance(failure, PayloadTooLarge)
        else 1
    )
