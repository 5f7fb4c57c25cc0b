"""DirectCollect: accepts the usual request of a known head in one call, without a coroutine.

The usual request is small, is for one website, and has nothing to reject, rename, ignore or adjust;
its events differ in nothing from a contract of the website.
All that follows from its head is prepared: sender, envelope and response. Any other request is left
to the endpoint in `endpoints/collect.py` before anything of it was counted, so that one place
decides what is refused, and how.
"""

import logging
import random
import time
import weakref
from typing import Any

from msgspec.structs import replace
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.auth import authenticate
from ingest.decoding.contract_drift import drifts_of
from ingest.decoding.decoder import Decoder
from ingest.decoding.lone_surrogates import replace_lone_surrogates
from ingest.decoding.request_head import SHARED_BY_HEAD
from ingest.dependencies import Dependencies
from ingest.publishing.envelopes import EncodedRequest, EnvelopeHeader
from ingest.publishing.partition_queue import DeliveryReport, PendingDelivery
from ingest.publishing.privacy_filter import privacy_filter
from schemas.envelope import EnvelopeTemplate
from schemas.errors import ApiError
from schemas.event_times import MAX_AGE_MS, MAX_FUTURE_MS, is_near, keeps_time
from schemas.http.admission import RATE_LIMIT_KEY, SMALL_BODY_BYTES
from schemas.http.asgi import headers_by_name
from schemas.http.client_ip import FORWARDING_HEADERS
from schemas.http.http_requests import count_duration
from schemas.http.limits import RateLimitBucket
from schemas.http.middleware import BEGAN_KEY, REQUEST_ID_HEADER, REQUEST_ID_KEY
from schemas.http.protocol import STATUS_LINES
from schemas.kinds import CUSTOM_EVENT, Kind
from schemas.registry import Snapshot
from schemas.registry.website_contracts import NO_CONTRACTS
from schemas.runtime.request_id import REQUEST_ID
from schemas.telemetry.instruments import DIRECT_FAILURES
from schemas.telemetry.spans import Traces

log = logging.getLogger(__name__)

DIRECT = "tidemark.direct"
"""Key, beside SHARED_BY_HEAD, in what requests with the same head share: their `DirectCollect`."""

CHANGING_HEADERS = {REQUEST_ID_HEADER, *FORWARDING_HEADERS}
"""Headers that proxies add: each such request is looked at by the middleware."""

MAX_WEBSITES = 16
"""Websites of one sender whose envelopes are prepared; every open connection keeps them."""

SUCCESS_BODY = b'{"status":"success","type":"%b","count":%%d,"receipt":"%%b"}'


class DirectCollect:
    """Accepts requests of one head, from one sender, while the registry does not change."""

    def __init__(
        self,
        kind: Kind,
        decoder: Decoder,
        dependencies: Dependencies,
        registry: Snapshot,
        scope: Scope,
        header: EnvelopeHeader,
    ) -> None:
        self.durations = dependencies.middleware.requests.counts(scope["path"], 200)
        self.topic = kind.topic
        self.publisher = dependencies.publisher
        self.middleware = dependencies.middleware
        self.registry = weakref.ref(registry)
        """Idle connections keep no old one in memory."""
        self._contracts = registry.contracts if kind is CUSTOM_EVENT else NO_CONTRACTS
        self.receipt_key = registry.receipt_key
        self._registry_source = dependencies.registry
        self._clock = dependencies.clock
        self._decoder = decoder
        self._admission = self.middleware.admission
        self._holder = header.sender.holder
        self._header = replace(header, clock_offset_ms=0)
        self._envelopes: dict[str, EnvelopeTemplate] = {}
        """By website; browsers send for one, servers also for others."""
        self.head = STATUS_LINES[200] + self.middleware.success_template(scope) + b"\r\n%b"
        self.body = SUCCESS_BODY % kind.name.encode()

    def accept(self, body: bytes) -> "DirectRequest | None":
        """The request, counted and not queued yet; None if the endpoint must look at it."""
        began, now, size = time.perf_counter(), self._clock(), len(body)
        registry, header, admission = self.registry(), self._header, self._admission
        sender, network = header.sender, header.client_network
        if (
            size > SMALL_BODY_BYTES
            or registry is None
            or self._registry_source.snapshot is not registry
        ):
            return None
        if sender.key is None:
            if not admission.network_fits(network, now):
                return None
        elif not registry.use_key(sender.key, now):
            return None
        decoded = self._decoder.decode_plain(replace_lone_surrogates(body))
        if decoded is None:
            return None
        items, array = decoded
        count, website_id = len(items), items[0].website_id or sender.subject_id
        oldest, newest, all_named = now - MAX_AGE_MS, now + MAX_FUTURE_MS, True
        for item in items:
            item_website_id = item.website_id
            if (sender.subject_id if item_website_id is None else item_website_id) != website_id:
                return None
            timestamp = item.timestamp
            if (
                timestamp is not None
                and not (timestamp.__class__ is int and oldest <= timestamp <= newest)
                and not keeps_time(timestamp, now)
            ):
                return None
            if item.sent_at is not None and not is_near(item.sent_at, now):
                return None
            if not item.anonymous_id:
                all_named = False
        if (contract := self._contracts.get(website_id)) is not None and any(
            drifts_of(contract.checker, item) for item in items
        ):
            return None
        envelopes = self._envelopes.get(website_id) or self._prepare(website_id, registry)
        if envelopes is None:
            return None
        anonymous_id = "" if all_named else header.anonymous_id(website_id, now)
        encoded = EncodedRequest(
            header.partition_key(website_id, items),
            [envelopes.encode(now, count, array, anonymous_id)],
            count,
            website_id,
            now,
        )
        bucket = admission.count_at_once(self._holder, network, now, size, count)
        return None if bucket is None else DirectRequest(self, encoded, bucket, began)

    def _prepare(self, website_id: str, registry: Snapshot) -> EnvelopeTemplate | None:
        """What envelopes of a website share; None if the sender may not write to it.

        None also if its privacy leaves anything out of such items.
        """
        sender, privacy = self._header.sender, registry.privacy_of(website_id)
        if website_id != sender.subject_id and not sender.can_reach(registry, website_id):
            return None
        if privacy_filter(privacy, self._header.head) is not None:
            return None
        if len(self._envelopes) >= MAX_WEBSITES:
            self._envelopes.clear()
        envelope = self._header.envelope(website_id, (), b"", privacy)
        self._envelopes[website_id] = prepared = EnvelopeTemplate(envelope)
        return prepared


class DirectRequest:
    """A request that was counted, until it has a response."""

    __slots__ = ("_began", "_bucket", "_delivery", "_direct", "_encoded", "_id")

    def __init__(
        self, direct: DirectCollect, encoded: EncodedRequest, bucket: RateLimitBucket, began: float
    ) -> None:
        self._direct = direct
        self._encoded = encoded
        self._bucket = bucket
        self._began = began
        self._id = b"%016x" % random.getrandbits(64)

    def publish(self) -> PendingDelivery:
        """Queue it; Unavailable or PayloadTooLarge if it is rejected."""
        token = REQUEST_ID.set(self._id.decode())
        try:
            direct = self._direct
            self._delivery = direct.publisher.enqueue(direct.topic, self._encoded)
        finally:
            REQUEST_ID.reset(token)
        return self._delivery

    def response(self, report: DeliveryReport) -> bytes:
        """The whole response; Unavailable or OutcomeUnknown if Kafka did not acknowledge."""
        direct, encoded = self._direct, self._encoded
        receipt = direct.publisher.acknowledged(
            direct.topic, encoded, self._delivery, report, direct.receipt_key
        )
        body = direct.body % (encoded.count, receipt.encode())
        count_duration(direct.durations, time.perf_counter() - self._began)
        return direct.head % (len(body), *self._bucket.header_numbers(), self._id, body)

    def error_response(self, error: Exception) -> ASGIApp:
        """The application that responds with this error."""

        async def respond(scope: Scope, _receive: Receive, send: Send) -> None:
            scope[REQUEST_ID_KEY] = self._id
            scope[BEGAN_KEY] = self._began
            scope[RATE_LIMIT_KEY] = self._bucket
            REQUEST_ID.set(self._id.decode())
            await self._direct.middleware.respond_to_error(scope, send, error)

        return respond


def remember_direct(
    kind: Kind,
    decoder: Decoder,
    dependencies: Dependencies,
    registry: Snapshot,
    scope: Scope,
    header: EnvelopeHeader,
) -> None:
    """Prepare what accepts further requests with the head of this one, if they can be usual."""
    shared: dict[str, Any] | None = scope.get(SHARED_BY_HEAD)
    if shared is None:
        return
    known: DirectCollect | None = shared.get(DIRECT)
    if known is not None and known.registry() is registry:
        return
    try:
        if _is_usual(scope, header) and _is_authentic(header, registry):
            shared[DIRECT] = DirectCollect(kind, decoder, dependencies, registry, scope, header)
    except Exception:  # this request has its response already
        DIRECT_FAILURES.inc()
        log.exception("head could not be prepared")


def _is_usual(scope: Scope, header: EnvelopeHeader) -> bool:
    head = header.head
    return (
        Traces.tracer is None
        and (head.key is not None or head.website_id is not None)
        and not (head.encoding or head.idempotency_key or head.ignored_parameters or head.awaited)
        and headers_by_name(scope).keys().isdisjoint(CHANGING_HEADERS)
    )


def _is_authentic(header: EnvelopeHeader, registry: Snapshot) -> bool:
    """Whether this registry has the same sender: it may have been read again since the request."""
    try:
        return authenticate(header.head, registry, header.received_ms) == header.sender
    except ApiError:
        return False
