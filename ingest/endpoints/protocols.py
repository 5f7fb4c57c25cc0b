"""Requests of other products' trackers: authenticate by alias, read, encode, publish, reply.

The path of our own requests with items of several kinds (`mixed.py`), but each protocol reads its
messages and replies as its own server does. A message is acknowledged or refused as a whole.
"""

import asyncio
import base64
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.auth import Sender, authenticate, authenticate_by_website
from ingest.decoding.body import decompress, receive_body
from ingest.decoding.decoder import AcceptedItems, Decoder, RejectedItem, join_items
from ingest.decoding.items_by_kind import DECODERS
from ingest.decoding.limits import MAX_BODY_BYTES, MAX_ITEMS
from ingest.decoding.request_head import RequestHead, read_link_head
from ingest.dependencies import CollectorEndpoint, Dependencies
from ingest.endpoints.debug import named_subject_id, record_refusal, record_rejects
from ingest.endpoints.import_events import import_envelope, reject_invalid
from ingest.endpoints.import_events import partition_key as import_partition_key
from ingest.protocols.all_protocols import PROTOCOLS
from ingest.protocols.protocol import (
    Message,
    Messages,
    Outcome,
    Page,
    Protocol,
    Reply,
    Route,
    TrackedItem,
    TrackerRequest,
    is_program,
    read_form,
    require_few,
)
from ingest.publishing.envelopes import (
    EncodedRequest,
    EnvelopeHeader,
    encode_request,
    partition_hash,
)
from ingest.publishing.privacy_filter import privacy_filter
from ingest.publishing.tee import Copy
from schemas.errors import (
    ApiError,
    Forbidden,
    Malformed,
    MethodNotAllowed,
    NoneAccepted,
    OutcomeUnknown,
    Unauthorized,
)
from schemas.http.asgi import WHOLE_BODY_KEY, headers_by_name, send_body
from schemas.http.client_ip import truncate_ip
from schemas.http.error_bodies import encode_json
from schemas.http.middleware import ERROR_REPLY_KEY
from schemas.http.unknown_records import MAX_ID_LENGTH
from schemas.kinds import CUSTOM_EVENT, IMPORTED_EVENT, Kind
from schemas.registry import Import, Snapshot
from schemas.registry.api_keys import contains_key, parse_key
from schemas.telemetry.instruments import TEE_REQUESTS

GZIP_MAGIC = b"\x1f\x8b"
MAX_WEBSITES = 16
"""Websites that the messages of one request may name."""
ALIAS_REQUIRED = (
    "The request names no website: its key, token or id must be an alias of one, as "
    "`tidemark aliases create --website ID --product {product} --name ID` registers it"
)
UNKNOWN_ALIAS = (
    "Unknown {product} id: register it with "
    "`tidemark aliases create --website ID --product {product} --name ID`"
)
HISTORY_REFUSED = (
    "History needs an API key with `track:events` in the place of the {product} token, and an open "
    "import of its website: `tidemark adopt {product} WEBSITE --history` creates both"
)
COPIED_HEADERS = frozenset(
    (b"content-type", b"content-encoding", b"authorization", b"user-agent", b"x-write-key")
)
COPIED_PREFIXES = (b"openpanel-", b"posthog-", b"ce-")
"""Of headers that products name their website, library or event in."""
COPY_HEADER = "x-tidemark-copy"
"""Marks copies: one that comes back, as of an address that is the collector's own, ends there."""
HISTORY_DECODER = Decoder(IMPORTED_EVENT)


class Group(Struct):
    """Items of one kind, website and visitor's browser, with the index of the message of each."""

    header: EnvelopeHeader
    kind: Kind
    texts: list[bytes] = []
    indexes: list[int] = []


class Encoded(Struct, frozen=True):
    """The items of one kind and website, ready to publish."""

    kind: Kind
    request: EncodedRequest
    indexes: Sequence[int]
    """Of their messages."""


def protocol_endpoint(protocol: Protocol, route: Route, dependencies: Dependencies) -> ASGIApp:
    """The application of a route."""
    middleware, throttle = dependencies.middleware, dependencies.import_throttle

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in route.methods:
            raise MethodNotAllowed(", ".join(route.methods))
        request: TrackerRequest | None = None
        messages: Messages | None = None

        def error_reply(error: ApiError) -> tuple[int, str, bytes]:
            reply = route.error(error, request)
            subject_id = named_website(protocol, scope, request, messages, dependencies)
            record_refusal(dependencies, subject_id, route.path, error, reply.status)
            return sendable(reply)

        scope[ERROR_REPLY_KEY] = error_reply
        head = without_foreign_key(read_link_head(scope))
        network, now = middleware.client_network(scope), dependencies.clock()
        sender = authenticate(replace(head, website_id=None), dependencies.registry.snapshot, now)
        ticket = await middleware.admission.admit(scope, sender.holder if sender else None, network)
        request = await read_request(protocol, scope, receive, head, now)
        if route.verify is not None:
            secret = dependencies.registry.snapshot.receipt_key.secret_for(protocol.product)
            if (reply := route.verify(request, secret)) is not None:
                middleware.admit_anonymous(scope)
                await send_body(send, *sendable(reply), list(reply.headers))
                return
        messages = route.read(request)
        require_few(len(messages.messages))
        if messages.history:
            require_own_key(protocol, head, messages)
        senders = await find_senders(protocol, head, messages, dependencies, now)
        first_sender = next(iter(senders.values()))
        ticket.holder = first_sender.holder
        target_import = None
        if messages.history:
            if len({one.subject_id for one in senders.values()}) > 1:
                raise Malformed("History in one request must be of one website")
            target_import = find_import(protocol, first_sender, dependencies.registry.snapshot)
            messages = replace(messages, messages=list(map(as_history, messages.messages)))
        async with throttle.slot() if target_import else nullcontext():
            rejected = {i: one.invalid for i, one in enumerate(messages.messages) if one.invalid}
            is_server = not protocol.agent_is_visitors and is_program(head.user_agent)
            groups = group_items(messages, senders, head, network, now, dependencies, is_server)
            encoded = encode_groups(groups, dependencies, rejected, target_import)
            header = EnvelopeHeader(first_sender, head, network, now, dependencies.anonymous_ids)
            encoded += encode_dropped(messages, senders, header)
            count = 0 if target_import else sum(one.request.count for one in encoded)
            size = len(request.body) or len(scope["query_string"])
            await ticket.charge(size, count, len(rejected))
            failed = await publish(encoded, dependencies)
        require_outcome(route, messages, rejected, failed)
        refused = [RejectedItem(i, Malformed.code, rejected[i]) for i in sorted(rejected)]
        record_rejects(dependencies, first_sender.subject_id, route.path, refused)
        outcome = Outcome(request, messages, rejected, failed)
        await send_body(send, *sendable(route.reply(outcome)))
        if dependencies.registry.snapshot.tees and not failed and target_import is None:
            copy_request(protocol, scope, outcome, header, dependencies)

    return endpoint


def named_website(
    protocol: Protocol,
    scope: Scope,
    request: TrackerRequest | None,
    messages: Messages | None,
    dependencies: Dependencies,
) -> str | None:
    """The website of a refused request, by its key or by what names it; None if unknown.

    What cannot be read may still name it in the query string or by HTTP Basic.
    """
    names: list[str | None] = []
    if messages is not None:
        names += [messages.alias, *(one.alias for one in messages.messages)]
    if request is not None:
        names += [*request.query.values(), *(request.basic or ())]
    registry = dependencies.registry.snapshot
    websites = (
        registry.website_of_tracker(protocol.product, name) for name in names if name is not None
    )
    website_id = next((website for website in websites if website in registry.websites), None)
    return website_id or named_subject_id(scope, dependencies)


def copy_request(
    protocol: Protocol,
    scope: Scope,
    outcome: Outcome,
    header: EnvelopeHeader,
    dependencies: Dependencies,
) -> None:
    """Offer the request, as it was received, to the tee of each alias in it that has one."""
    registry, head, request = dependencies.registry.snapshot, header.head, outcome.request
    if COPY_HEADER.encode() in request.headers:
        return
    sent = (one for one in outcome.messages.messages if one.items or one.dropped)
    names = {one.alias or outcome.messages.alias for one in sent}
    for name in sorted(name for name in names if name):
        key = registry.registered_alias(protocol.product, name)
        address = registry.tees.get(key) if key else None
        if key is None or address is None:
            continue
        privacy = registry.privacy_of(registry.aliases[key])
        if privacy_filter(privacy, head) is not None:
            TEE_REQUESTS.labels("privacy").inc()
            continue
        if contains_key(scope["query_string"]) or contains_key(request.body):
            TEE_REQUESTS.labels("own key").inc()
            continue
        network = header.client_network if privacy.location != "none" else ""
        query = scope["query_string"].decode("latin-1")
        url = address.rstrip("/") + quote(request.path) + ("?" + query if query else "")
        body = scope.get(WHOLE_BODY_KEY, b"")
        dependencies.tee.offer(
            Copy(scope["method"], url, copied_headers(request, head, network), body)
        )


def copied_headers(request: TrackerRequest, head: RequestHead, network: str) -> dict[str, str]:
    """Headers of a copy: without an API key of ours, and with the network of the client."""
    own_key = head.key is not None or any(map(parse_key, request.basic or ()))
    copied = {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in request.headers.items()
        if (name in COPIED_HEADERS or name.startswith(COPIED_PREFIXES))
        and not (name == b"authorization" and own_key)
    }
    copied[COPY_HEADER] = "1"
    return {**copied, "x-forwarded-for": network} if network else copied


def without_foreign_key(head: RequestHead) -> RequestHead:
    """The head without a key that is another product's, such as a token in `Authorization`."""
    return head if head.key is None or parse_key(head.key) else replace(head, key=None)


async def read_request(
    protocol: Protocol, scope: Scope, receive: Receive, head: RequestHead, now_ms: int
) -> TrackerRequest:
    """The request; gzip is recognized by its content, as browsers cannot always name it."""
    body = b"" if scope["method"] == "GET" else await receive_body(scope, receive, head)
    if body[:2] == GZIP_MAGIC:
        body = b"".join(decompress(body, "gzip", MAX_BODY_BYTES))
    headers = headers_by_name(scope)
    path = scope["path"]
    return TrackerRequest(
        path.removeprefix(protocol.prefix) if path.startswith(f"{protocol.prefix}/") else path,
        read_form(scope["query_string"]),
        headers,
        body,
        scope.get(WHOLE_BODY_KEY, b""),
        basic_credentials(headers.get(b"authorization")),
        now_ms,
    )


def basic_credentials(header: bytes | None) -> tuple[str, str] | None:
    """User name and password of an `Authorization: Basic` header; None without one."""
    scheme, _, encoded = (header or b"").partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        user, _, password = base64.b64decode(encoded.strip()).decode().partition(":")
    except ValueError:
        return None
    return user, password


async def find_senders(
    protocol: Protocol,
    head: RequestHead,
    messages: Messages,
    dependencies: Dependencies,
    now_ms: int,
) -> Mapping[str | None, Sender]:
    """The sender of each website that the messages name; Unauthorized or Forbidden."""
    sent = (one for one in messages.messages if one.items or one.dropped)
    names = dict.fromkeys(one.alias for one in sent) or {None: None}
    if len(names) > MAX_WEBSITES:
        raise Malformed(f"The messages of a request may name at most {MAX_WEBSITES} websites")
    aliases = {name: name or messages.alias for name in names}
    registry = dependencies.registry.snapshot
    unknown = [
        alias
        for alias in aliases.values()
        if alias and len(alias) <= MAX_ID_LENGTH and not _is_registered(alias, protocol, registry)
    ]
    if unknown:
        await dependencies.registry.newer_than(registry, unknown)
        registry = dependencies.registry.snapshot
    return {
        name: find_sender(protocol, alias, head, registry, now_ms)
        for name, alias in aliases.items()
    }


def _is_registered(alias: str, protocol: Protocol, registry: Snapshot) -> bool:
    if key := parse_key(alias):
        return key[0] in registry.keys
    return registry.website_of_tracker(protocol.product, alias) is not None


def find_sender(
    protocol: Protocol, alias: str | None, head: RequestHead, registry: Snapshot, now_ms: int
) -> Sender:
    """The sender by alias, website id or API key of ours; Unauthorized or Forbidden.

    An API key in the place of the alias names the website itself.
    """
    if alias and parse_key(alias):
        head, alias = replace(head, key=alias), None
    website_id = registry.website_of_tracker(protocol.product, alias) if alias else None
    if alias and website_id not in registry.websites:
        raise Forbidden(UNKNOWN_ALIAS.format(product=protocol.product))
    if head.key is not None:
        sender = authenticate(
            replace(head, website_id=website_id or head.website_id), registry, now_ms
        )
        if sender is not None:
            return sender
    if website_id is None:
        raise Unauthorized(ALIAS_REQUIRED.format(product=protocol.product))
    return authenticate_by_website(website_id, registry, head)


def require_own_key(protocol: Protocol, head: RequestHead, messages: Messages) -> None:
    """Forbidden without an API key of ours: an alias is public, and history is rewritten by it."""
    if head.key is None and not parse_key(messages.alias or ""):
        raise Forbidden(HISTORY_REFUSED.format(product=protocol.product))


def find_import(protocol: Protocol, sender: Sender, registry: Snapshot) -> Import:
    """The open import of the sender's website for history of this product; Forbidden."""
    for one in registry.imports.values():
        if one.takes_history_of(protocol.product, sender.subject_id):
            return one
    raise Forbidden(HISTORY_REFUSED.format(product=protocol.product))


def as_history(message: Message) -> Message:
    """The message with its events alone: an import has nothing else, which is dropped by name."""
    events = [
        TrackedItem(IMPORTED_EVENT, {**item.fields, "user_agent": message.user_agent or None})
        for item in message.items
        if item.kind is CUSTOM_EVENT
    ]
    others = [item.kind.name for item in message.items if item.kind is not CUSTOM_EVENT]
    dropped = f"{others[0]} in history" if others else message.dropped
    return replace(message, items=events, dropped=dropped, user_agent="", address="")


def group_items(
    messages: Messages,
    senders: Mapping[str | None, Sender],
    head: RequestHead,
    network: str,
    now_ms: int,
    dependencies: Dependencies,
    is_server: bool,
) -> list[Group]:
    """Items grouped by kind, website, and the visitor's browser where a server names it."""
    groups: list[Group] = []
    newest: dict[tuple[object, ...], Group] = {}
    for index, message in enumerate(messages.messages):
        if not message.items:
            continue
        sender = senders[message.alias]
        visitor = (message.user_agent, message.address) if sender.trusted else ("", "")
        hides_server = (message.from_server or is_server) and not sender.trusted
        for item in message.items:
            key = (item.kind.name, message.alias, *visitor, hides_server)
            group = newest.get(key)
            if group is None or len(group.texts) == MAX_ITEMS:
                header = EnvelopeHeader(sender, head, network, now_ms, dependencies.anonymous_ids)
                if any(visitor) or hides_server:
                    header = header_of_visitor(header, *visitor)
                group = newest[key] = Group(header, item.kind)
                groups.append(group)
            fields = {name: value for name, value in item.fields.items() if value is not None}
            group.texts.append(encode_json(fields))
            group.indexes.append(index)
    return groups


def header_of_visitor(header: EnvelopeHeader, user_agent: str, address: str) -> EnvelopeHeader:
    """The header with the visitor's browser and network in place of the sending server's.

    Empty where the message does not name them.
    """
    return replace(
        header,
        head=replace(header.head, user_agent=user_agent, headers={}),
        client_network=truncate_ip(address) if address else "",
        names_visitor=bool(user_agent or address),
    )


def encode_groups(
    groups: Sequence[Group],
    dependencies: Dependencies,
    rejected: dict[int, str],
    target_import: Import | None,
) -> list[Encoded]:
    """Encode the items of valid messages; adds the reason of each refusal to `rejected`.

    A message with an invalid item is refused as a whole. History is for an import.
    """
    decoded: list[tuple[Group, AcceptedItems]] = []
    for group in groups:
        accepted, invalid = decode(group, target_import)
        rejected.update({group.indexes[one.index]: one.message for one in invalid})
        decoded.append((group, accepted))
    registry, encoded = dependencies.registry.snapshot, []
    for group, accepted in decoded:
        valid = _without(accepted, {n for n, i in enumerate(group.indexes) if i in rejected})
        if not valid.items:
            continue
        if target_import is not None:
            request = encode_history(valid, target_import, group.header.received_ms, registry)
            encoded.append(Encoded(group.kind, request, [group.indexes[n] for n in valid.indexes]))
            continue
        header = group.header.with_clock_offset(dependencies.clock_offsets, valid.items)
        try:
            request = encode_request(valid, header, registry)
        except NoneAccepted as error:  # by the contract of the website
            refused: Sequence[RejectedItem] = error.details["rejected"]
        else:
            refused = request.rejected
            positions = valid.indexes if request.indexes is None else request.indexes
            encoded.append(Encoded(group.kind, request, [group.indexes[n] for n in positions]))
        rejected.update({group.indexes[one.index]: one.message for one in refused})
    return encoded


def encode_history(
    accepted: AcceptedItems, target_import: Import, now_ms: int, registry: Snapshot
) -> EncodedRequest:
    """Encode items for an import, as those that come to its own route."""
    website_id = target_import.website_id
    privacy = registry.privacy_of(website_id)
    return EncodedRequest(
        import_partition_key(target_import),
        [import_envelope(accepted, target_import, now_ms, privacy)],
        len(accepted.items),
        website_id,
        now_ms,
    )


def _without(accepted: AcceptedItems, refused: Collection[int]) -> AcceptedItems:
    """The accepted items, without the ones at the refused indexes."""
    if not refused:
        return accepted
    rows = [
        (index, item, bytes(raw))
        for index, item, raw in zip(
            accepted.indexes, accepted.items, accepted.raw_items(), strict=True
        )
        if index not in refused
    ]
    return AcceptedItems(
        [item for _, item, _ in rows], join_items([raw for *_, raw in rows]), [n for n, *_ in rows]
    )


def encode_dropped(
    messages: Messages, senders: Mapping[str | None, Sender], header: EnvelopeHeader
) -> list[Encoded]:
    """Encode the counts of dropped messages by name, for the ledger."""
    dropped: dict[tuple[str | None, str], list[int]] = {}
    for index, message in enumerate(messages.messages):
        if message.dropped:
            dropped.setdefault((message.alias, message.dropped), []).append(index)
    encoded = []
    for (alias, name), indexes in dropped.items():
        sender, count = senders[alias], len(indexes)
        subject_id = sender.subject_id
        envelope = replace(header, sender=sender).encode_dropped(subject_id, count, name)
        request = EncodedRequest(
            partition_hash(subject_id),
            [envelope],
            count,
            subject_id,
            header.received_ms,
            dropped=count,
        )
        encoded.append(Encoded(CUSTOM_EVENT, request, indexes))
    return encoded


def decode(
    group: Group, target_import: Import | None
) -> tuple[AcceptedItems, Sequence[RejectedItem]]:
    """Accepted and rejected items of a group; indexes are within the group."""
    decoder = HISTORY_DECODER if target_import else DECODERS[group.kind.name]
    try:
        accepted = decoder.decode(join_items(group.texts))
        if target_import is not None:
            accepted = reject_invalid(accepted, target_import, group.header.received_ms)
    except NoneAccepted as error:
        return AcceptedItems((), b"[]", ()), error.details["rejected"]
    return accepted, accepted.rejected


async def publish(encoded: Sequence[Encoded], dependencies: Dependencies) -> dict[int, ApiError]:
    """Publish concurrently; the error of each message that Kafka did not acknowledge."""
    receipt_key = dependencies.registry.snapshot.receipt_key
    outcomes = await asyncio.gather(
        *(
            dependencies.publisher.publish(one.kind.topic, one.request, receipt_key)
            for one in encoded
        ),
        return_exceptions=True,
    )
    failed: dict[int, ApiError] = {}
    for one, outcome in zip(encoded, outcomes, strict=True):
        if isinstance(outcome, ApiError):
            failed.update(dict.fromkeys(one.indexes, outcome))
        elif isinstance(outcome, BaseException):
            raise outcome
    return failed


def require_outcome(
    route: Route,
    messages: Messages,
    rejected: Mapping[int, str],
    failed: Mapping[int, ApiError],
) -> None:
    """Raise the error of a request whose reply has one result for all messages.

    Where Kafka did not take some, the client sends all again; items with ids are stored once.
    """
    if route.replies_each:
        return
    if failed:
        raise max(failed.values(), key=lambda error: isinstance(error, OutcomeUnknown))
    if rejected and len(rejected) == len(messages.messages):
        index = min(rejected)
        refused = [RejectedItem(i, Malformed.code, rejected[i]) for i in sorted(rejected)]
        raise NoneAccepted(f"No message was accepted. {rejected[index]}", rejected=refused)


def page_endpoint(protocol: Protocol, page: Page, dependencies: Dependencies) -> ASGIApp:
    """The application of a page, whose requests count against the client network."""

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in page.methods:
            raise MethodNotAllowed(", ".join(page.methods))
        dependencies.middleware.admit_anonymous(scope)
        head = read_link_head(scope)
        request = await read_request(protocol, scope, receive, head, dependencies.clock())
        await send_body(send, *sendable(page.reply(request)))

    return endpoint


def sendable(reply: Reply) -> tuple[int, str, bytes]:
    """Status, media type and body."""
    return reply.status, reply.media_type, reply.body


PROTOCOL_ENDPOINTS: tuple[CollectorEndpoint, ...] = tuple(
    endpoint
    for protocol in PROTOCOLS
    for endpoint in (
        *(
            CollectorEndpoint(
                (),
                partial(protocol_endpoint, protocol, route),
                protocol.paths(route),
                route.claim,
            )
            for route in protocol.routes
        ),
        *(
            CollectorEndpoint((), partial(page_endpoint, protocol, page), protocol.paths(page))
            for page in protocol.pages
        ),
    )
)
