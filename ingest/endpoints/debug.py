"""GET /debug: the last items received for a website, with rejects and reasons, once or as a stream.

It requires a key with `read:data`: what visitors did is data, and a key that may only send must not
read it.

`error_recorder` and `record_rejects` remember rejected requests and items for it; `DebugLines` has
its entries, one per item, with what was ignored, moved or repeated.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Raw, Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.auth import authenticate
from ingest.decoding.contract_drift import ItemDrift, drift_message
from ingest.decoding.decoder import RejectedItem
from ingest.decoding.field_aliases import RawFields
from ingest.decoding.ignored_members import MAX_LISTED_NAMES, ignored_members
from ingest.decoding.ignored_parameters import WEBSITE_PARAMETER_NAMES
from ingest.decoding.request_head import read_request_head, website_outside_body
from ingest.decoding.tracker_formats import CLICK_ID_PARAMETERS
from ingest.dependencies import CollectorEndpoint, Dependencies
from ingest.endpoints.responses import DebugResponse
from ingest.peers.all_peers import PeerReader
from ingest.publishing.recent_requests import (
    FollowerQueue,
    RecentRequest,
    RequestError,
    merged,
    put_dropping_oldest,
)
from ingest.publishing.rejection_counts import (
    DRIFT_CODE,
    REJECTS_OMITTED,
    RejectionCount,
    merged_counts,
)
from schemas.envelope import Envelope, decode_envelope
from schemas.errors import (
    ApiError,
    Forbidden,
    Malformed,
    MethodNotAllowed,
    RateLimitExceeded,
    Unauthorized,
    Unavailable,
)
from schemas.event_contract import MISSING, Drift
from schemas.event_times import event_time_ms, instant_ms
from schemas.http.admission import LimitHolder
from schemas.http.asgi import headers_by_name, send_json
from schemas.http.auth import authorize_organization, authorize_website
from schemas.http.debug_access import require_debug_key
from schemas.http.error_bodies import encode_json
from schemas.http.middleware import OnError
from schemas.http.openapi import Operation, Parameter, Response
from schemas.items import Item
from schemas.kinds import ALL_KINDS, CUSTOM_EVENT, Kind
from schemas.plans import Group
from schemas.receipts import unverified
from schemas.registry import Key, Snapshot
from schemas.registry.privacy import DROP_REASONS, names_pattern
from schemas.registry.tombstones import erasure_subject
from schemas.runtime.clock import format_instant
from schemas.telemetry.instruments import REJECTED_ITEMS, start_at_zero

MAX_KEPT_REJECTS = 50
"""Rejected items kept per request."""
MAX_MESSAGE_LENGTH = 256
"""Maximum length of a message; some repeat the value that was sent."""


def error_recorder(dependencies: Dependencies, paths: Collection[str]) -> OnError:
    """Records the errors of these routes for the website of the request."""
    start_at_zero(REJECTED_ITEMS, paths)

    def record_error(scope: Scope, error: ApiError) -> None:
        subject_id = named_subject_id(scope, dependencies) if scope["path"] in paths else None
        if subject_id is not None:
            dependencies.publisher.recent_requests.add(
                subject_id, _rejected_request(error, scope["path"], dependencies.clock())
            )

    return record_error


def record_refusal(
    dependencies: Dependencies, subject_id: str | None, path: str, error: ApiError, status: int
) -> None:
    """Record a refused request of another product's tracker, which may be answered with success.

    Then its items are counted here, because no status of a response counts it.
    """
    if status < 400:
        REJECTED_ITEMS.labels(path).inc(len(error.details.get("rejected", ())) or 1)
    if subject_id is not None:
        refused = _rejected_request(error, path, dependencies.clock())
        dependencies.publisher.recent_requests.add(subject_id, refused)


def record_rejects(
    dependencies: Dependencies, subject_id: str, path: str, rejected: Iterable[RejectedItem]
) -> None:
    """Record the rejects of an accepted request."""
    if rejects := tuple(rejected):
        REJECTED_ITEMS.labels(path).inc(len(rejects))
        kept_rejects = _truncated(rejects)
        dependencies.publisher.recent_requests.add(
            subject_id,
            RecentRequest(
                dependencies.clock(),
                path,
                rejected=kept_rejects,
                omitted_rejects=len(rejects) - len(kept_rejects),
            ),
        )


def record_drift(dependencies: Dependencies, path: str, drifting: Sequence[ItemDrift]) -> None:
    """Count how accepted items differ from the contracts of their websites."""
    now_ms, counts = dependencies.clock(), dependencies.publisher.recent_requests.drift_counts
    drift_counts = Counter((item.website_id, drift) for item in drifting for drift in item.drifts)
    for (website_id, drift), count in drift_counts.items():
        message = drift_message([drift])
        counts.add(website_id, [RejectionCount(path, DRIFT_CODE, message, count, now_ms, now_ms)])


def _rejected_request(error: ApiError, path: str, now_ms: int) -> RecentRequest:
    rejected = tuple(error.details.get("rejected", ()))
    kept_rejects = _truncated(rejected)
    request_error = RequestError(error.status, error.code, error.message[:MAX_MESSAGE_LENGTH])
    return RecentRequest(
        now_ms,
        path,
        rejected=kept_rejects,
        error=request_error,
        omitted_rejects=len(rejected) - len(kept_rejects),
    )


def _truncated(rejected: Sequence[RejectedItem]) -> tuple[RejectedItem, ...]:
    """The first 50 rejects, with truncated messages."""
    return tuple(
        RejectedItem(reject.index, reject.code, reject.message[:MAX_MESSAGE_LENGTH])
        for reject in rejected[:MAX_KEPT_REJECTS]
    )


def named_subject_id(scope: Scope, dependencies: Dependencies) -> str | None:
    """The subject of a rejected request, by its headers and query string; None if unknown."""
    registry = dependencies.registry.snapshot
    try:
        head = read_request_head(scope)
        sender = authenticate(head, registry, dependencies.clock())
    except ApiError:  # a wrong key, or one of another website: exactly what /debug should show
        sender = None
    if sender is not None:
        return sender.subject_id
    website_id = website_outside_body(scope["query_string"], headers_by_name(scope))
    return website_id if website_id in registry.websites else None


ITEMS_OMITTED = "too large to show here; it was published"
DROPPED_BY_PRIVACY = "dropped by the privacy of the website: {reason}"
DROPPED_BY_NAME = "'{reason}' has no place here and is not stored"
MAX_SEEN_IDS = 10_000
"""Event ids that a stream remembers to mark repeated ones."""

KINDS_BY_TOPIC = {kind.topic: kind for kind in ALL_KINDS}
FORMAT_MEMBERS = frozenset(("type", *WEBSITE_PARAMETER_NAMES, *CLICK_ID_PARAMETERS))
"""Members that tracker formats read; they are published with the item."""

DebugLine = dict[str, Any]


class EventFacts(Struct):
    """Name and properties of an event, which a contract is about."""

    name: str
    properties: dict[str, Any] | None = None


_raws = msgspec.json.Decoder(list[Raw])
_fields = msgspec.json.Decoder(RawFields)
_events = msgspec.json.Decoder(EventFacts)
_items = {kind.topic: msgspec.json.Decoder(kind.item) for kind in ALL_KINDS}


class DebugLines:
    """The entries of a sequence of requests, from the oldest to the newest."""

    def __init__(self, registry: Callable[[], Snapshot] | None = None) -> None:
        """`registry` gives the current registry, for contracts of websites."""
        self._registry = registry
        self._seen_ids: set[tuple[str, str]] = set()

    def of_request(self, request: RecentRequest) -> Iterator[DebugLine]:
        """The entries of the next request, in the order of its items."""
        received_at = {"receivedAt": format_instant(request.at_ms)}
        if request.receipt:
            yield from self._accepted_lines(request, received_at)
        refused = {**received_at, "accepted": False, "path": request.topic_or_path}
        for reject in request.rejected:
            yield {**refused, **msgspec.to_builtins(reject)}
        if request.omitted_rejects:
            yield {**refused, "count": request.omitted_rejects, "message": REJECTS_OMITTED}
        if request.error is not None:
            yield {**refused, **msgspec.to_builtins(request.error)}

    def _accepted_lines(
        self, request: RecentRequest, received_at: DebugLine
    ) -> Iterator[DebugLine]:
        kind = KINDS_BY_TOPIC[request.topic_or_path]
        shared = {
            **received_at,
            "accepted": True,
            "type": kind.name,
            "receipt": request.receipt,
        }
        if not request.envelope:
            yield {**shared, "count": request.count, "message": ITEMS_OMITTED}
            return
        envelope = decode_envelope(request.envelope)
        if envelope.drop_reason:
            reason = envelope.drop_reason
            yield {
                **shared,
                "count": envelope.count,
                "dropped": reason,
                "message": (
                    DROPPED_BY_PRIVACY if reason in DROP_REASONS else DROPPED_BY_NAME
                ).format(reason=reason),
            }
            return
        origin = {
            "address": envelope.client_network,
            "userAgent": envelope.user_agent,
            "headers": envelope.headers,
            "byServer": envelope.trusted,
        }
        indexes = unverified(request.receipt).indexes
        for position, raw in enumerate(_raws.decode(envelope.items), request.first_item):
            place = {"index": position if indexes is None else indexes[position]}
            remarks = self._remarks(kind, raw, envelope)
            yield {**shared, **place, **origin, "item": raw, **remarks}

    def _remarks(self, kind: Kind, raw: Raw, envelope: Envelope) -> DebugLine:
        """What is stored otherwise than it was sent."""
        item = _items[kind.topic].decode(raw)
        remarks: DebugLine = {}
        if ignored := ignored_members(0, kind, _fields.decode(raw), FORMAT_MEMBERS):
            remarks |= {"ignored": ignored.names, "hint": ignored.message}
        if kind is CUSTOM_EVENT and (drifts := self._drifts(raw, envelope.subject_id)):
            remarks["drift"] = drift_message(drifts[:MAX_LISTED_NAMES])
        if (stored := stored_time(item, envelope)) is not None:
            remarks["storedTime"] = format_instant(stored)
        if self._is_repeated(kind, item):
            remarks["repeated"] = True
        return remarks

    def _drifts(self, raw: Raw, website_id: str) -> Sequence[Drift]:
        """How a published event differs from the contract of its website.

        What the privacy of the website leaves out is not missing: it was there when it was checked.
        """
        registry = self._registry() if self._registry else None
        contract = registry.contracts.get(website_id) if registry else None
        if registry is None or contract is None:
            return ()
        event = _events.decode(raw)
        left_out = names_pattern(registry.privacy_of(website_id).never_store_properties)
        return [
            drift
            for drift in contract.checker.drifts(event.name, event.properties or {})
            if drift.problem != MISSING
            or not any(map(left_out.fullmatch, (drift.property or "").split(".")))
        ]

    def _is_repeated(self, kind: Kind, item: Item) -> bool:
        """Whether an item before had the same event id."""
        if not item.event_id:
            return False
        key = (kind.topic, item.event_id)
        if key in self._seen_ids:
            return True
        if len(self._seen_ids) >= MAX_SEEN_IDS:
            self._seen_ids.clear()
        self._seen_ids.add(key)
        return False


def stored_time(item: Item, envelope: Envelope) -> int | None:
    """The event time, if the timestamp as Unix milliseconds or ISO 8601 does not name it."""
    if item.timestamp is None:
        return None
    time_ms = event_time_ms(item.timestamp, envelope.received_ms, envelope.clock_offset_ms)
    named = instant_ms(item.timestamp) if isinstance(item.timestamp, str) else item.timestamp
    return None if named is None or int(named) == time_ms else time_ms


DEBUG_PATH = "/debug"
MAX_SHOWN_ITEMS = 100
KEEPALIVE_SECONDS = 15.0
"""Interval of empty lines in a stream without requests."""
PEER_POLL_SECONDS = 1.0
"""Interval in which a stream reads what other processes received."""

WEBSITE_REQUIRED = "'website_id' is required in the query string"

DEBUG_OPERATION = Operation(
    method="GET",
    path=DEBUG_PATH,
    operation_id="debug",
    tag="Collect",
    summary="List the last items received for a website, with rejects and reasons",
    description="Requires a key with `read:data`. With `follow=1` the response is a stream of JSON "
    "lines: the last items, oldest first, then new ones as they are received, and an empty line "
    "every 15 seconds without any. Listed is what all collector processes have received since "
    "their start; `warning`, in a stream a line with that member only, says what is missing. "
    "What became of an item (stored, duplicate, a bot's) is in the response to "
    "`GET /v1/receipts/{receipt}?bots=true` of the query service, under its `index`. `rejections` "
    "counts what was rejected by reason, of the reasons met last.",
    parameters=(
        Parameter("website_id", "website id"),
        Parameter("follow", "1 for a stream", {"type": "string", "enum": ["0", "1"]}),
    ),
    responses=(
        Response(
            200,
            "the last items, newest first",
            DebugResponse,
            media_types=("application/x-ndjson",),
        ),
    ),
    errors=(Malformed, Unauthorized, Forbidden, RateLimitExceeded, Unavailable),
)


def debug(dependencies: Dependencies) -> ASGIApp:
    """The endpoint of `/debug`."""

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            raise MethodNotAllowed("GET")
        registry, head = dependencies.registry.snapshot, read_request_head(scope)
        key = require_debug_key(registry, head.key, dependencies.clock())
        admission = dependencies.middleware.admission
        organization = registry.organizations[key.organization_id]
        await admission.admit(scope, LimitHolder(organization, Group.QUERY))
        subject_id = _subject_id(registry, key, head.website_id)
        if parse_qs(scope["query_string"].decode("latin-1")).get("follow", ["0"])[0] == "1":
            async with _follow(dependencies, subject_id, key.organization_id) as queue:
                await _stream(
                    queue,
                    _debug_lines(dependencies),
                    lambda: _still_authorized(dependencies, head.key, subject_id),
                    receive,
                    send,
                )
            return
        await send_json(send, 200, await _recent(dependencies, subject_id), NO_STORE)

    return endpoint


NO_STORE = [(b"cache-control", b"no-store")]


async def _recent(dependencies: Dependencies, subject_id: str) -> dict[str, Any]:
    """The response body: the last items of all processes, newest first."""
    peers = await PeerReader(dependencies.peers, subject_id).read()
    lines = _debug_lines(dependencies)
    recent_requests = dependencies.publisher.recent_requests
    erased_ms = _erased_ms(dependencies.registry.snapshot, subject_id)
    latest = merged(recent_requests.latest(subject_id), peers.requests)
    requests = [request for request in latest if request.at_ms > erased_ms]
    counts = merged_counts(
        (
            *recent_requests.rejection_counts.of_website(subject_id),
            *recent_requests.drift_counts.of_website(subject_id),
            *peers.rejections,
        )
    )
    items = [line for request in requests for line in lines.of_request(request)][::-1]
    body: dict[str, Any] = {
        "status": "success",
        "websiteId": subject_id,
        "processes": 1 + peers.processes,
        "items": items[:MAX_SHOWN_ITEMS],
        "rejections": [_rejection_line(each) for each in counts if each.code != DRIFT_CODE],
        "drifts": [_rejection_line(each) for each in counts if each.code == DRIFT_CODE],
    }
    proxies = dependencies.middleware.untrusted_proxies.problem
    if warning := "; ".join(filter(None, (peers.warning, proxies))):
        body["warning"] = warning
    return body


def _debug_lines(dependencies: Dependencies) -> DebugLines:
    return DebugLines(lambda: dependencies.registry.snapshot)


def _erased_ms(registry: Snapshot, subject_id: str) -> int:
    """When something of a subject was erased last: requests of before are not shown."""
    website = registry.websites.get(subject_id)
    owners = (subject_id, website.organization_id if website else subject_id)
    return max(
        (
            erasure.created_at
            for erasure in registry.erasures.values()
            if erasure_subject(erasure) in owners and not erasure.state.is_dry_run
        ),
        default=0,
    )


def _rejection_line(rejection: RejectionCount) -> DebugLine:
    return {
        "path": rejection.path,
        "code": rejection.code,
        "message": rejection.message,
        "count": rejection.count,
        "firstAt": format_instant(rejection.first_ms),
        "lastAt": format_instant(rejection.last_ms),
    }


@asynccontextmanager
async def _follow(
    dependencies: Dependencies, subject_id: str, organization_id: str
) -> AsyncIterator[FollowerQueue]:
    """The queue of a stream, which gets what other processes receive as well."""
    reader = PeerReader(dependencies.peers, subject_id)
    peers = await reader.read()
    recent_requests = dependencies.publisher.recent_requests
    with recent_requests.follow(subject_id, organization_id, peers.requests) as queue:
        if peers.warning:
            put_dropping_oldest(queue, peers.warning)
        polling = asyncio.create_task(_poll_peers(reader, queue, peers.warning))
        try:
            yield queue
        finally:
            polling.cancel()


async def _poll_peers(reader: PeerReader, queue: FollowerQueue, warning: str) -> None:
    while True:
        await asyncio.sleep(PEER_POLL_SECONDS)
        peers = await reader.read()
        for request in peers.requests:
            put_dropping_oldest(queue, request)
        if peers.warning and peers.warning != warning:
            put_dropping_oldest(queue, peers.warning)
        warning = peers.warning


def _subject_id(registry: Snapshot, key: Key, website_id: str | None) -> str:
    subject_id = website_id or key.website_id
    if subject_id is None:
        raise Malformed(WEBSITE_REQUIRED)
    if subject_id == key.organization_id:  # items that a server sent without a website id
        return authorize_organization(registry, key, subject_id).id
    return authorize_website(registry, key, subject_id).id


def _still_authorized(dependencies: Dependencies, text: str | None, subject_id: str) -> bool:
    """Whether the key still exists, and still has access to the subject."""
    registry = dependencies.registry.snapshot
    try:
        key = require_debug_key(registry, text, dependencies.clock())
        _subject_id(registry, key, subject_id)
    except ApiError:
        return False
    return True


async def _stream(
    queue: FollowerQueue,
    lines: DebugLines,
    is_authorized: Callable[[], bool],
    receive: Receive,
    send: Send,
) -> None:
    """Send JSON lines until the client disconnects, the key is revoked or the collector stops."""
    headers = [(b"content-type", b"application/x-ndjson"), *NO_STORE]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    disconnected = asyncio.create_task(_client_disconnected(receive))
    try:
        while (text := await _next_lines(queue, disconnected, lines)) is not None and (
            is_authorized()
        ):
            await send({"type": "http.response.body", "body": text, "more_body": True})
    finally:
        disconnected.cancel()
    await send({"type": "http.response.body", "body": b""})


async def _next_lines(
    queue: FollowerQueue, disconnected: "asyncio.Task[None]", lines: DebugLines
) -> bytes | None:
    """The lines of the next request; an empty line after a timeout; None at the end."""
    next_request = asyncio.create_task(queue.get())
    done, _ = await asyncio.wait(
        (next_request, disconnected), timeout=KEEPALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    if next_request not in done:
        next_request.cancel()
        return None if disconnected in done else b"\n"
    request = next_request.result()
    if request is None:
        return None
    if isinstance(request, str):
        return encode_json({"warning": request}) + b"\n"
    return b"".join(encode_json(line) + b"\n" for line in lines.of_request(request))


async def _client_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


DEBUG_ENDPOINT = CollectorEndpoint((DEBUG_OPERATION,), debug)
