"""The endpoint for items of any shape: as `collect`, but one request may hold several kinds.

Each kind has a topic of its own, and no message lies in two of them. So what one request brings of
one kind is in Kafka whole or not at all, and the answer says for each item whether Kafka has it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw, Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.auth import Sender, by_website, identify
from ingest.decoding.decoder import Rejected, none_accepted
from ingest.decoding.field_aliases import Fields
from ingest.decoding.items_by_kind import ShapeOf, Share, Sorted, sort
from ingest.decoding.limits import BODY_BYTES
from ingest.decoding.request_head import Head, read_head
from ingest.dependencies import Desk
from ingest.endpoints.debug_log import note_rejects
from ingest.endpoints.mixed_responses import Result, failure_of
from ingest.endpoints.rate_limits import admit, charge, count
from ingest.publishing.envelopes import Cover, Sealed, seal_request
from ingest.publishing.publish import send_surely
from schemas.errors import Failure, NoneAccepted, TooLarge, WrongMethod

Items = Sequence[Raw | Fields]


class Mixed(Struct, frozen=True):
    """One route whose items are told apart by what they say of themselves."""

    path: str
    method: str
    read: Callable[[Scope, Receive, Head], Awaitable[Items]]
    """The items of a request; Malformed when there are none."""
    shape_of: ShapeOf
    reply: Callable[[Send, Result], Awaitable[None]]
    more: Callable[[Result], Mapping[str, Any]]
    """What the body of a failure says besides."""


def mixed(route: Mixed, desk: Desk) -> ASGIApp:
    """The endpoint of that route."""

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != route.method:
            raise WrongMethod(route.method)
        head, network, now = read_head(scope), desk.edge.network(scope), desk.clock()
        sender = identify(head, desk.registry.snapshot, now)
        buckets = admit(desk, scope, sender, network, now)
        items = await route.read(scope, receive, head)
        found = sort(items, route.shape_of)
        if sender is None:
            sender = by_website(first_website(found), desk.registry.snapshot, head)
        sealed = sealed_shares(found, sender, head, network, desk)
        if sealed:
            good = sum(one.count for _, one in sealed)
            count(desk, scope, sender, network, buckets, size_of(items, scope), good)
        result = await sent(found, sealed, desk)
        failure = failure_of(result, route.more(result))
        if failure is not None:
            raise failure
        note_rejects(desk, sender.subject_id, route.path, found.rejected.values())
        charge(desk, sender, network, len(found.rejected))
        await route.reply(send, result)

    return endpoint


def size_of(items: Items, scope: Scope) -> int:
    """Bytes that the items came as."""
    bodies = [memoryview(item).nbytes for item in items if isinstance(item, Raw)]
    return sum(bodies) or len(scope["query_string"])


def first_website(found: Sorted) -> str | None:
    """The website that the first good item names; NoneAccepted when none is good."""
    if found.first is None:
        raise none_accepted([found.rejected[index] for index in sorted(found.rejected)])
    return found.first.website_id


def sealed_shares(
    found: Sorted, sender: Sender, head: Head, address: str, desk: Desk
) -> list[tuple[Share, Sealed]]:
    """What is to be sent; items of websites out of reach become rejects."""
    registry, now = desk.registry.snapshot, desk.clock()
    cover = Cover(sender, head, address, now, desk.visitors)
    sealed: list[tuple[Share, Sealed]] = []
    for share in found.shares.values():
        if share.size > BODY_BYTES:
            raise TooLarge(f"The items may have at most {BODY_BYTES:,} bytes, once they are apart")
    for share in found.shares.values():
        try:
            done = seal_request(share.accepted, cover, registry)
        except NoneAccepted as none:
            found.rejected.update({reject.index: reject for reject in none.more["rejected"]})
            continue
        found.rejected.update({reject.index: reject for reject in done.rejected})
        sealed.append((share, done))
    return sealed


async def sent(found: Sorted, sealed: Sequence[tuple[Share, Sealed]], desk: Desk) -> Result:
    """What became of each kind; all are under way at the same time."""
    sending = [send_surely(desk, share.kind.topic, done) for share, done in sealed]
    answers = await asyncio.gather(*sending, return_exceptions=True)
    receipts: dict[str, str] = {}
    failures: dict[str, Failure] = {}
    for (share, _), answer in zip(sealed, answers, strict=True):
        if isinstance(answer, str):
            receipts[share.kind.name] = answer
        elif isinstance(answer, Failure):
            failures[share.kind.name] = answer
        else:
            raise answer
    if receipts:
        _settle_too_large([share for share, _ in sealed], found, failures)
    return Result(found, receipts, failures)


def _settle_too_large(shares: Sequence[Share], found: Sorted, failures: dict[str, Failure]) -> None:
    """Reject the items of a kind that will never fit, or a tracker sends all of it for ever."""
    for share in shares:
        failure = failures.get(share.kind.name)
        if isinstance(failure, TooLarge):
            del failures[share.kind.name]
            for place in share.places:
                found.rejected.setdefault(place, Rejected(place, failure.code, failure.message))
