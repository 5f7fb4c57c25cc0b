"""What is answered for items of several shapes: by item, by what Kafka acknowledged."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ingest.decoding.decoder import Rejected, none_accepted
from ingest.decoding.items_by_kind import Sorted
from schemas.errors import Failure, NoneAccepted, TooLarge, Unconfirmed

PARTLY = (
    "Kafka has some of the items only; 'results' says which. Items with an eventId may be sent "
    "again, those that are kept count once"
)


class Result(Struct, frozen=True):
    """What became of a request."""

    found: Sorted
    receipts: Mapping[str, str]
    """By the name of the kind that Kafka has acknowledged."""
    failures: Mapping[str, Failure]
    """By the name of the kind that it has not."""

    @property
    def kept(self) -> list[int]:
        """The places of the items that Kafka has."""
        told = self.found.told
        return [i for i in range(len(told)) if self.trouble(i) is None]

    def trouble(self, index: int) -> Rejected | None:
        """Why an item is not kept."""
        if index in self.found.rejected:
            return self.found.rejected[index]
        failure = self.failures.get(self.found.told[index].kind or "")
        return None if failure is None else Rejected(index, failure.code, failure.message)


def of_one(result: Result) -> dict[str, Any]:
    """Of a request with one item."""
    told = result.found.told[0]
    return {"status": "success", "type": told.type, "count": 1, **receipt(result)}


def of_events(result: Result) -> dict[str, Any]:
    """Of a request with items of one shape."""
    rejected = [result.found.rejected[i] for i in sorted(result.found.rejected)]
    body = {"status": "success", "type": "custom_event", "count": len(result.kept)}
    return {**body, **receipt(result), **({"rejected": rejected} if rejected else {})}


def of_batch(result: Result) -> dict[str, Any]:
    """Of a request with items of any shape."""
    status = "success" if len(result.kept) == len(result.found.told) else "partial"
    return {"status": status, **by_item(result)}


def receipt(result: Result) -> dict[str, str]:
    """The receipt of items of one kind."""
    [given] = result.receipts.values()
    return {"receipt": given}


def nothing(result: Result) -> dict[str, Any]:  # noqa: ARG001
    """What a failure's body says besides."""
    return {}


def by_item(result: Result) -> dict[str, Any]:
    """What became of each item, also in the body of a failure."""
    kept = [result.found.told[i].type for i in result.kept]
    return {
        "batch": True,
        "processed": len(kept),
        "batched": {type_: kept.count(type_) for type_ in dict.fromkeys(kept)},
        "receipts": dict(result.receipts),
        "results": [_item(result, index) for index in range(len(result.found.told))],
    }


def _item(result: Result, index: int) -> dict[str, Any]:
    told, trouble = result.found.told[index], result.trouble(index)
    own = {} if told.event_id is None else {"eventId": told.event_id}
    if trouble is None:
        return {"status": "success", "type": told.type, **own}
    said = {"status": "error", "message": trouble.message, "code": trouble.code}
    return {**said, "eventType": told.type, **own}


def failure_of(result: Result, more: Mapping[str, Any]) -> Failure | None:
    """The refusal of a request; None when it was taken, as far as its items are good."""
    if not result.failures and result.receipts:
        return None
    if not result.failures:
        rejected = [result.found.rejected[i] for i in sorted(result.found.rejected)]
        return NoneAccepted(none_accepted(rejected).message, rejected=rejected, **more)
    worst = max(result.failures.values(), key=_weight)
    if result.receipts:
        return Unconfirmed(PARTLY, **more)
    worst.more.update(more)
    return worst


def _weight(failure: Failure) -> int:
    """What may be sent again is said first: of that nothing is lost."""
    return 2 if isinstance(failure, Unconfirmed) else 0 if isinstance(failure, TooLarge) else 1
