"""Edge: the one layer around each HTTP service, so that every answer has its headers and shape.

It gives each response the three `X-RateLimit-*` headers and CORS, answers OPTIONS, and turns
whatever was raised inside into the service's failure body. What an answer says about its caller's
allowance is left in the scope by admission; an answer to nobody in particular shows the public
allowance of the client's network.
"""

import logging
from collections.abc import Callable, Sequence

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.errors import Failure, NotFound, WrongMethod
from schemas.http import cors
from schemas.http.admission import ALLOWANCE, BODY_SIZE, PUBLIC, Admission, work
from schemas.http.asgi import ClientGone, answer, header
from schemas.http.client_ip import Networks, client_address, cut, within
from schemas.http.error_bodies import Shape
from schemas.http.rate_limit import RateLimiter
from schemas.http.rate_limit_headers import Headers
from schemas.runtime.clock import Clock

log = logging.getLogger(__name__)

COUNTRY_TOLD = "tidemark.country"
"""In the scope: the client's country, when a trusted proxy tells it."""
PUBLIC_LIMIT = PUBLIC.requests
CHARGED = (400, 401, 403, 404, 408, 413)
"""Refusals that count against the network of who has no key."""


class Internal(Failure):
    """Something of ours went wrong; the log has it, the caller gets no detail."""


OnRefusal = Callable[[Scope, Failure], None]


def unnoted(_scope: Scope, _failure: Failure) -> None:
    """Nobody wants to know."""


class Edge:
    """Wraps an ASGI application."""

    def __init__(
        self,
        app: ASGIApp,
        shape: Shape,
        limiter: RateLimiter,
        clock: Clock,
        trusted: Networks = (),
        countries: Sequence[bytes] = (),
        credentials: bool = False,
    ) -> None:
        self._app = app
        self._shape = shape
        self.admission = Admission(limiter, clock)
        self._trusted = trusted
        self._countries = countries
        """Headers in which the trusted proxies tell the client's country."""
        self._credentials = credentials
        self.on_refusal: OnRefusal = unnoted
        """Told of each refusal before it is answered; set by who wants to know."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("app", self)  # Starlette's router raises, not answers, when there is one
        if self._trusted and within(_peer(scope), self._trusted):
            scope[COUNTRY_TOLD] = self._country(scope)
        started = False

        async def dressed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], *self._dress(scope)]
            await send(message)

        if scope["method"] == "OPTIONS":
            await answer_options(dressed, scope, await self._methods(scope, receive))
            return
        try:
            await self._app(scope, receive, dressed)
        except ClientGone:
            return
        except Exception as error:
            if started:
                raise
            failure = self._failure(error)
            self.on_refusal(scope, failure)
            await self._refuse(dressed, scope, failure)

    async def _methods(self, scope: Scope, receive: Receive) -> str:
        """What the route takes, as it says itself to a method that none takes."""
        try:
            await self._app(dict(scope), receive, unheard)
        except (Failure, HTTPException) as refused:
            failure = self._failure(refused)
            if isinstance(failure, WrongMethod):
                return failure.allow
        return cors.ANY_METHOD  # no such route: what is asked of it must be able to say so

    def admit_stranger(self, scope: Scope) -> None:
        """Count a request that names no tenant, by its network."""
        self.admission.public(scope, self.network(scope))

    def network(self, scope: Scope) -> str:
        """The client's address as it may be kept: cut to /24 or /48."""
        return cut(self.address(scope))

    def address(self, scope: Scope) -> str:
        """The client's address; never to be kept uncut."""
        peer = _peer(scope)
        if not self._trusted:
            return peer
        return client_address(peer, header(scope, b"x-forwarded-for"), self._trusted)

    def scheme(self, scope: Scope) -> str:
        """http or https, as the client asked: a trusted proxy tells."""
        told = header(scope, b"x-forwarded-proto")
        if told in ("http", "https") and within(_peer(scope), self._trusted):
            return told
        return str(scope["scheme"])

    def _country(self, scope: Scope) -> str:
        """What the nearest proxy says, behind whatever the client said itself."""
        told = ((header(scope, name) or "").rpartition(",")[2].strip() for name in self._countries)
        return next(filter(None, told), "")

    def _dress(self, scope: Scope) -> Headers:
        shown = scope.get(ALLOWANCE) or self.admission.seen(self.network(scope))
        return shown.headers() + cors.headers(scope, self._credentials)

    def _failure(self, error: Exception) -> Failure:
        if isinstance(error, Failure):
            return error
        if isinstance(error, HTTPException) and error.status_code == 404:
            return NotFound("No such route")
        if isinstance(error, HTTPException) and error.status_code == 405:
            return WrongMethod((error.headers or {}).get("Allow", "another method"))
        log.error("request failed", exc_info=error)
        return Internal("Something went wrong on our side; the log has the details")

    async def _refuse(self, send: Send, scope: Scope, failure: Failure) -> None:
        if failure.status in CHARGED and ALLOWANCE not in scope:
            try:
                rejected = len(failure.more.get("rejected", ()))
                cost = 1 + work(rejected, scope.get(BODY_SIZE, 0))
                self.admission.public(scope, self.network(scope), cost)
            except Failure as exhausted:
                failure = exhausted
        extra: Headers = []
        if failure.retry_after is not None:
            extra.append((b"retry-after", b"%d" % failure.retry_after))
        if isinstance(failure, WrongMethod):
            extra.append((b"allow", failure.allow.encode()))
        if failure.status == 401:
            extra.append((b"www-authenticate", b"Bearer"))
        await answer(send, failure.status, self._shape(failure), extra)


def _peer(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else ""


async def answer_options(send: Send, scope: Scope, methods: str) -> None:
    """204 that names the methods, and lets a browser go on."""
    headers: Headers = [(b"content-length", b"0"), (b"allow", f"{methods}, OPTIONS".encode())]
    if header(scope, b"access-control-request-method"):
        headers += cors.preflight(scope, methods)
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def unheard(message: Message) -> None:
    """Where an answer goes that nobody waits for."""
