"""GET /l/{slug}: the click is recorded, and the visitor goes on whatever Kafka does."""

import asyncio
import logging
import zlib

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ingest.desk import Desk
from ingest.head import Head, read_head
from ingest.lanes import Answer, Outcome
from ingest.visitor import Visitors
from schemas.edge.address import cut
from schemas.envelope import Envelope, seal
from schemas.failures import NotFound, Unavailable
from schemas.items import Click
from schemas.kinds import CLICK
from schemas.plans import Group
from schemas.registry import Link

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 0.05
REPORT_EVERY_MS = 10_000
REFERRER = 2048

IOS = ("iPhone", "iPad", "iPod")
ANDROID = ("Android",)


class Lost:
    """Clicks that Kafka never got: each is counted, one line of the log now and then."""

    def __init__(self) -> None:
        self.clicks = 0
        self._reported_ms = 0

    def count(self, reason: str, now_ms: int) -> None:
        self.clicks += 1
        if now_ms - self._reported_ms >= REPORT_EVERY_MS:
            self._reported_ms = now_ms
            log.warning("click lost", extra={"reason": reason, "since_start": self.clicks})


class Redirects(Struct, frozen=True):
    """Answers for short links."""

    desk: Desk
    visitors: Visitors
    lost: Lost

    def route(self) -> Route:
        return Route("/l/{slug}", self.answer, methods=["GET", "HEAD"])

    async def answer(self, request: Request) -> Response:
        """302 to where the link leads; a HEAD is not a click."""
        registry, now = self.desk.registry.snapshot, self.desk.clock()
        link = registry.links_by_slug.get(request.path_params["slug"])
        if link is None:
            raise NotFound("No such link")
        self.desk.edge.admit(
            request.scope, registry.organizations[link.organization_id], Group.COLLECT
        )
        head = read_head(request.scope)
        target = _target(link, head.user_agent, now)
        if target is None:
            raise NotFound("This link has expired")
        if request.method == "GET":
            await self._record(link, head, cut(self.desk.edge.address(request.scope)), now)
        return RedirectResponse(target, 302, {"cache-control": "private, no-store"})

    async def _record(self, link: Link, head: Head, address: str, now: int) -> None:
        visitor = self.visitors.name(address, head.user_agent, now)
        place = zlib.crc32(f"{link.id}\0{visitor}".encode())
        try:
            sent = self.desk.outbox.put(
                CLICK.topic, place, [_sealed(link, head, visitor, address, now)], 1
            ).answered
        except Unavailable as away:
            self.lost.count(away.message, now)
            return
        sent.add_done_callback(self._account)
        await asyncio.wait([sent], timeout=PATIENCE_SECONDS)

    def _account(self, sent: "asyncio.Future[Answer]") -> None:
        if (outcome := sent.result().outcome) is not Outcome.ACKNOWLEDGED:
            self.lost.count(outcome.name, self.desk.clock())


def _sealed(link: Link, head: Head, visitor: str, address: str, now: int) -> bytes:
    click = Click(
        slug=link.slug,
        timestamp=now,
        anonymous_id=visitor,
        referrer=head.headers.get("referer", "")[:REFERRER] or None,
    )
    return seal(
        Envelope(
            subject_id=link.id,
            organization_id=link.organization_id,
            received_ms=now,
            count=1,
            items=msgspec.json.encode([click]),
            address=address,
            user_agent=head.user_agent,
            headers=head.headers,
        )
    )


def _target(link: Link, user_agent: str, now: int) -> str | None:
    """Where this visitor is sent; None when the link has expired and leads nowhere else."""
    if link.expires_at is not None and link.expires_at <= now:
        return link.expired_redirect_url
    if link.ios_url and any(word in user_agent for word in IOS):
        return link.ios_url
    if link.android_url and any(word in user_agent for word in ANDROID):
        return link.android_url
    return link.target_url
