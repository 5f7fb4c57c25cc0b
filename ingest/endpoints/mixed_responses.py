"""Response bodies for mixed requests: one result per item, by what Kafka acknowledged."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ingest.decoding.decoder import RejectedItem, none_accepted_error
from ingest.decoding.ignored_parameters import IgnoredParameters
from ingest.decoding.items_by_kind import ItemsByKind
from ingest.endpoints.responses import remarks
from schemas.errors import ApiError, NoneAccepted, OutcomeUnknown, PayloadTooLarge

PARTIAL_MESSAGE = (
    "Only some of the items were acknowledged; see 'results'. Items with an eventId can be sent "
    "again; duplicates are stored once"
)


class MixedResult(Struct, frozen=True):
    """Outcome of a mixed request."""

    items: ItemsByKind
    receipts: Mapping[str, str]
    """By name of the kinds that Kafka acknowledged."""
    errors: Mapping[str, ApiError]
    """By name of the kinds that it did not."""
    adjusted: int = 0
    """Number of items that Kafka acknowledged, and that are stored under another time."""
    ignored_parameters: IgnoredParameters | None = None
    """Unknown parameters of the query string."""

    @property
    def accepted_indexes(self) -> list[int]:
        """Indexes of the items that Kafka acknowledged."""
        return [i for i in range(len(self.items.summaries)) if self.rejection(i) is None]

    def rejection(self, index: int) -> RejectedItem | None:
        """Why an item was not accepted; None if it was."""
        if index in self.items.rejected:
            return self.items.rejected[index]
        error = self.errors.get(self.items.summaries[index].kind or "")
        return None if error is None else RejectedItem(index, error.code, error.message)


def single_body(result: MixedResult) -> dict[str, Any]:
    """Response body for a request with one item."""
    summary = result.items.summaries[0]
    body = {"status": "success", "type": summary.type, "count": 1, **receipt_member(result)}
    return body | remarks_member(result)


def events_body(result: MixedResult) -> dict[str, Any]:
    """Response body for a request with events of one format."""
    rejected = [result.items.rejected[i] for i in sorted(result.items.rejected)]
    body = {"status": "success", "type": "custom_event", "count": len(result.accepted_indexes)}
    body |= {**receipt_member(result), **({"rejected": rejected} if rejected else {})}
    return body | remarks_member(result)


def batch_body(result: MixedResult) -> dict[str, Any]:
    """Response body for a request with items of several kinds."""
    status = "success" if len(result.accepted_indexes) == len(result.items.summaries) else "partial"
    return {"status": status, **item_details(result), **remarks_member(result)}


def remarks_member(result: MixedResult) -> dict[str, object]:
    """What was ignored and adjusted in accepted items, where anything was."""
    ignored = [one for one in result.items.ignored if result.rejection(one.index) is None]
    return remarks(ignored, result.adjusted, result.ignored_parameters)


def receipt_member(result: MixedResult) -> dict[str, str]:
    """The receipt of a request with one kind."""
    [receipt] = result.receipts.values()
    return {"receipt": receipt}


def no_details(result: MixedResult) -> dict[str, Any]:  # noqa: ARG001
    """No additional fields in an error body."""
    return {}


def item_details(result: MixedResult) -> dict[str, Any]:
    """One result per item; also part of error bodies."""
    accepted_types = [result.items.summaries[i].type for i in result.accepted_indexes]
    return {
        "batch": True,
        "processed": len(accepted_types),
        "batched": {type_: accepted_types.count(type_) for type_ in dict.fromkeys(accepted_types)},
        "receipts": dict(result.receipts),
        "results": [_item_result(result, index) for index in range(len(result.items.summaries))],
    }


def _item_result(result: MixedResult, index: int) -> dict[str, Any]:
    summary, reject = result.items.summaries[index], result.rejection(index)
    event_id = {} if summary.event_id is None else {"eventId": summary.event_id}
    if reject is None:
        return {"status": "success", "type": summary.type, **event_id}
    error = {"status": "error", "message": reject.message, "code": reject.code}
    return {**error, "eventType": summary.type, **event_id}


def request_error(result: MixedResult, details: Mapping[str, Any]) -> ApiError | None:
    """The error of a request; None if its valid items were acknowledged."""
    if not result.errors and result.receipts:
        return None
    if not result.errors:
        rejected = [result.items.rejected[i] for i in sorted(result.items.rejected)]
        return NoneAccepted(none_accepted_error(rejected).message, rejected=rejected, **details)
    most_severe = max(result.errors.values(), key=_retry_rank)
    if result.receipts:
        return OutcomeUnknown(PARTIAL_MESSAGE, **details)
    most_severe.details.update(details)
    return most_severe


def _retry_rank(error: ApiError) -> int:
    """Errors that a client retries rank first, so that no item is lost."""
    return (
        2 if isinstance(error, OutcomeUnknown) else 0 if isinstance(error, PayloadTooLarge) else 1
    )
