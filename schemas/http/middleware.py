"""HttpMiddleware: rate-limit headers, CORS, OPTIONS and error bodies around each service.

Each response gets the three `X-RateLimit-*` headers and CORS headers; exceptions become error
bodies. Admission stores the rate limit to show in the ASGI scope; without one the response shows
the public limit of the client network.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.errors import ApiError, Forbidden, MethodNotAllowed, NotFound, Unauthorized
from schemas.http import cors
from schemas.http.admission import (
    BODY_SIZE_KEY,
    PUBLIC_GROUP_LIMIT,
    RATE_LIMIT_KEY,
    Admission,
    rejection_cost,
)
from schemas.http.asgi import (
    WRITE_KEY,
    ClientDisconnected,
    WriteWhole,
    header,
    headers_by_name,
    send_body,
    send_json,
)
from schemas.http.client_ip import UntrustedProxies, client_ip, truncate_ip
from schemas.http.error_bodies import ErrorShape
from schemas.http.health import Drain
from schemas.http.http_requests import HttpRequests, routes
from schemas.http.limits import HEADER_LINES, Headers, RateLimiter
from schemas.http.unknown_records import RereadRegistry, never_reread
from schemas.runtime.clock import Clock
from schemas.runtime.networks import Networks, in_networks
from schemas.runtime.request_id import begin_request

log = logging.getLogger(__name__)

COUNTRY_KEY = "tidemark.country"
"""Key of the ASGI scope: the client's country, when a trusted proxy sent it."""
CLIENT_IP_KEY = "tidemark.client_ip"
"""Key of the ASGI scope: the address of a client behind a trusted proxy; must not be stored."""
REQUEST_ID_HEADER = b"x-request-id"
REQUEST_ID_KEY, BEGAN_KEY = "tidemark.request_id", "tidemark.began"
"""Keys of the ASGI scope: the id of the request, and when it began."""
STARTED_KEY = "tidemark.started"
"""Key of the ASGI scope: the response has begun."""
ERROR_REPLY_KEY = "tidemark.error_reply"
"""Key of the ASGI scope: status, media type and body of an error, for clients of other products."""
SUCCESS_LINES = (
    b"content-type: application/json\r\ncontent-length: %d\r\ncache-control: no-store\r\n"
    b"%b%bx-request-id: %b\r\n"
)
"""Header lines of a success: length, that no cache keeps it, rate limit, CORS, request id."""
PUBLIC_REQUESTS = PUBLIC_GROUP_LIMIT.requests
CHARGED_STATUSES = (400, 401, 403, 404, 408, 413)
"""Statuses that count against the client network of a request without a key."""


class InternalError(ApiError):
    """Something of ours went wrong; the log has it, the caller gets no detail."""


CACHE_CONTROL = b"cache-control"
NO_STORE = (CACHE_CONTROL, b"no-store")

OnError = Callable[[Scope, ApiError], None]


def ignore_error(_scope: Scope, _failure: ApiError) -> None:
    """Report nothing: the default."""


class HttpMiddleware:
    """Wraps an ASGI application."""

    def __init__(
        self,
        app: ASGIApp,
        shape: ErrorShape,
        limiter: RateLimiter,
        clock: Clock,
        trusted: Networks = (),
        countries: Sequence[bytes] = (),
        address_header: str = "",
        credentials: bool = False,
    ) -> None:
        self._app = app
        self._error_shape = shape
        self.admission = Admission(limiter, clock)
        self._trusted = trusted
        self.untrusted_proxies = UntrustedProxies(clock)
        self._countries = countries
        """Headers in which trusted proxies send the client's country."""
        self._address_header = address_header.lower().encode()
        """In which trusted proxies send the client's address alone; empty: in none."""
        self.is_https = False
        """Whether browsers reach the service by HTTPS only, whatever a proxy sends."""
        self._credentials = credentials
        self.drain = Drain()
        """Whether the process is stopping, for health checks and `serve`."""
        self.on_error: OnError = ignore_error
        """Called with each error before its response; the collector logs them for /debug."""
        self.reread_registry: RereadRegistry = never_reread
        """Called when a request is refused: its website or key may be newer than the snapshot."""
        self.requests = HttpRequests(routes(()))
        """Durations of requests by route, for the metrics."""
        self.usage: Mapping[str, str] = {}
        """How to call a route, by path: for the response to another method."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = begin_request(headers_by_name(scope).get(REQUEST_ID_HEADER))
        scope.setdefault("app", self)  # then Starlette's router raises instead of responding
        peer = _peer(scope)
        if self._trusted and in_networks(peer, self._trusted):
            scope[COUNTRY_KEY] = self._country(scope)
            scope[CLIENT_IP_KEY] = address = self._forwarded_client(scope, peer)
            self.untrusted_proxies.notice_client(scope, peer, address)
        else:
            self.untrusted_proxies.notice(scope, peer)
        scope[REQUEST_ID_KEY] = request_id
        scope[BEGAN_KEY] = time.perf_counter()
        send_with_headers = self._adding_headers(scope, send)
        if scope["method"] == "OPTIONS":
            await send_options(
                send_with_headers, scope, await self._allowed_methods(scope, receive)
            )
            return
        try:
            try:
                await self._app(scope, receive, send_with_headers)
            except (Unauthorized, Forbidden):
                if STARTED_KEY in scope or not await self.reread_registry(scope):
                    raise
                await self._app(scope, receive, send_with_headers)
        except ClientDisconnected:
            return
        except Exception as error:
            if STARTED_KEY in scope:
                raise
            await self._respond_to_error(scope, send_with_headers, error)

    async def respond_to_error(self, scope: Scope, send: Send, error: Exception) -> None:
        """Respond to a request that was accepted outside of this application, and failed.

        `scope` has its id, when it began and its rate limit.
        """
        await self._respond_to_error(scope, self._adding_headers(scope, send), error)

    def _adding_headers(self, scope: Scope, send: Send) -> Send:
        """`send` that adds the headers of every response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope[STARTED_KEY] = True
                self.requests.observe(
                    scope["path"], message["status"], time.perf_counter() - scope[BEGAN_KEY]
                )
                message["headers"] = [
                    *message["headers"],
                    *_caching(message["headers"]),
                    *self._response_headers(scope),
                    (REQUEST_ID_HEADER, scope[REQUEST_ID_KEY]),
                ]
            await send(message)

        return send_with_headers

    async def _respond_to_error(self, scope: Scope, send: Send, error: Exception) -> None:
        api_error = self._with_usage(scope, self._to_api_error(error))
        self.on_error(scope, api_error)
        await self._send_error(send, scope, api_error)

    async def send_success(self, scope: Scope, send: Send, body: bytes) -> None:
        """Send 200 with JSON; at once where the protocol can, with the same headers."""
        write: WriteWhole | None = scope.get(WRITE_KEY)
        if write is None:
            await send_json(send, 200, body)
            return
        self.requests.observe(scope["path"], 200, time.perf_counter() - scope[BEGAN_KEY])
        rate_limit = scope.get(RATE_LIMIT_KEY) or self.admission.public_status(
            self.client_network(scope)
        )
        lines = SUCCESS_LINES % (
            len(body),
            HEADER_LINES % rate_limit.header_numbers(),
            cors.cors_lines(scope, self._credentials),
            scope[REQUEST_ID_KEY],
        )
        write(200, lines, body)

    def success_template(self, scope: Scope) -> bytes:
        """Header lines of a success of this head: fill in length, HeaderNumbers and request id."""
        cors_lines = cors.cors_lines(scope, self._credentials).replace(b"%", b"%%")
        return SUCCESS_LINES.replace(b"%b%b", HEADER_LINES + cors_lines)

    async def _allowed_methods(self, scope: Scope, receive: Receive) -> str:
        """Methods of the route, from its own answer to OPTIONS."""
        try:
            await self._app(dict(scope), receive, discard_message)
        except (ApiError, HTTPException) as error:
            api_error = self._to_api_error(error)
            if isinstance(api_error, MethodNotAllowed):
                return api_error.allow
        return cors.ALL_METHODS  # no such route: let the preflight pass

    def admit_anonymous(self, scope: Scope, cost: int = 1) -> None:
        """Count a request without a tenant, by its client network."""
        self.admission.count_public(scope, self.client_network(scope), cost)

    def client_network(self, scope: Scope) -> str:
        """The client address, truncated to /24 or /48: the form that may be stored."""
        return truncate_ip(self.client_ip(scope))

    def client_ip(self, scope: Scope) -> str:
        """The client address; must not be stored."""
        peer = _peer(scope)
        if not self._trusted:
            return peer
        address: str | None = scope.get(CLIENT_IP_KEY)
        return self._forwarded_client(scope, peer) if address is None else address

    def _forwarded_client(self, scope: Scope, peer: str) -> str:
        single = header(scope, self._address_header) if self._address_header else None
        return client_ip(peer, header(scope, b"x-forwarded-for"), self._trusted, single)

    def scheme(self, scope: Scope) -> str:
        """http or https, from the client's view: a trusted proxy sends it."""
        if self.is_https:
            return "https"
        forwarded = header(scope, b"x-forwarded-proto")
        if forwarded in ("http", "https") and in_networks(_peer(scope), self._trusted):
            return forwarded
        return str(scope["scheme"])

    def _country(self, scope: Scope) -> str:
        """The last value of the first header that has one: the nearest proxy's."""
        values = (
            (header(scope, name) or "").rpartition(",")[2].strip() for name in self._countries
        )
        return next(filter(None, values), "")

    def _response_headers(self, scope: Scope) -> Headers:
        rate_limit = scope.get(RATE_LIMIT_KEY) or self.admission.public_status(
            self.client_network(scope)
        )
        return rate_limit.headers() + cors.cors_headers(scope, self._credentials)

    def _to_api_error(self, error: Exception) -> ApiError:
        if isinstance(error, ApiError):
            return error
        if isinstance(error, HTTPException) and error.status_code == 404:
            return NotFound("No such route")
        if isinstance(error, HTTPException) and error.status_code == 405:
            return MethodNotAllowed((error.headers or {}).get("Allow", "another method"))
        log.error("request failed", exc_info=error)
        return InternalError("Internal error; the server log has the details")

    def _with_usage(self, scope: Scope, error: ApiError) -> ApiError:
        usage = self.usage.get(scope["path"])
        if usage and isinstance(error, MethodNotAllowed):
            error.message = f"{error.message} {usage}"
        return error

    async def _send_error(self, send: Send, scope: Scope, error: ApiError) -> None:
        if error.status in CHARGED_STATUSES and RATE_LIMIT_KEY not in scope:
            try:
                rejected = len(error.details.get("rejected", ()))
                cost = 1 + rejection_cost(rejected, scope.get(BODY_SIZE_KEY, 0))
                self.admission.count_public(scope, self.client_network(scope), cost)
            except ApiError as exhausted:
                error = exhausted
        extra: Headers = []
        if error.retry_after is not None:
            extra.append((b"retry-after", b"%d" % error.retry_after))
        if isinstance(error, MethodNotAllowed):
            extra.append((b"allow", error.allow.encode()))
        if error.status == 401:
            extra.append((b"www-authenticate", b"Bearer"))
        if (reply := scope.get(ERROR_REPLY_KEY)) is not None:
            status, media_type, body = reply(error)
            await send_body(send, status, media_type, body, extra)
        else:
            await send_json(send, error.status, self._error_shape(error), extra)


def _caching(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """What a response says of caches that says nothing itself: it is for this client alone."""
    return [] if any(name == CACHE_CONTROL for name, _ in headers) else [NO_STORE]


def _peer(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else ""


async def send_options(send: Send, scope: Scope, methods: str) -> None:
    """Send 204 with the methods, and the preflight headers for a CORS preflight."""
    headers: Headers = [(b"content-length", b"0"), (b"allow", f"{methods}, OPTIONS".encode())]
    if header(scope, b"access-control-request-method"):
        headers += cors.preflight_headers(scope, methods)
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def discard_message(message: Message) -> None:
    """Discard a response."""
