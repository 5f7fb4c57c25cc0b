"""Notices of alerts and reports, and what became of their deliveries, as responses show them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from query.resources.pagination import query_integer
from query.resources.resource import Access, Action, Call
from query.response.json_response import json_response
from schemas.errors import Malformed
from schemas.http import openapi
from schemas.http.limits import RateLimitStatus, rate_limit_error
from schemas.http.openapi import Parameter
from schemas.registry import Alert, KeyScope, Report
from schemas.registry.notices import Delivery, Notice, Target
from schemas.runtime.clock import format_instant

WRITES = Access((KeyScope.WRITE_RECORDS, KeyScope.MANAGE_WEBSITES), also=(KeyScope.READ_DATA,))
DEFAULT_LIMIT, MAX_LIMIT = 20, 200
MAX_BY_HAND, HOUR_MS = 200, 3_600_000
"""Deliveries an hour of an organization that are no alert and no schedule."""
LIMIT_PARAMETER = Parameter(
    "limit",
    "notices, newest first",
    {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
)


class ShownDelivery(Struct, rename="camel"):
    """What became of one notice for one recipient or channel."""

    to: Annotated[str, Meta(description="e-mail address, or id of the channel")]
    kind: Annotated[str, Meta(description="email, or the kind of the channel")]
    state: Annotated[str, Meta(description="due, trying, delivered or failed")]
    due_at: Annotated[str | None, Meta(description="when it is tried next")]
    attempts: int
    tried_at: str | None
    delivered_at: str | None
    problem: Annotated[str | None, Meta(description="why the last attempt failed")]


class ShownNotice(Struct, rename="camel"):
    """One thing that was told."""

    id: str
    event: Literal["fired", "recovered", "test", "report"]
    start: Annotated[str, Meta(description="start of the bucket or period")]
    end: str
    value: float | None
    reference: Annotated[float | None, Meta(description="what the value was compared with")]
    text: str
    created_at: str
    deliveries: list[ShownDelivery]
    rows: list[dict[str, Any]] | UnsetType = UNSET


class NoticeResponse(Struct):
    """One notice."""

    success: Literal[True]
    data: ShownNotice


class NoticesResponse(Struct):
    """The newest notices."""

    success: Literal[True]
    data: list[ShownNotice]


def shown_notice(notice: Notice, deliveries: Sequence[Delivery]) -> ShownNotice:
    """A notice with its deliveries."""
    content = notice.content
    return ShownNotice(
        id=notice.id,
        event=notice.event.value,
        start=str(format_instant(notice.start_at)),
        end=str(format_instant(notice.end_at)),
        value=content.get("value"),
        reference=content.get("reference"),
        text=content.get("text", ""),
        created_at=str(format_instant(notice.created_at)),
        deliveries=[_shown_delivery(delivery) for delivery in deliveries],
        rows=content.get("rows", UNSET),
    )


async def tell_now(
    call: Call, record: Alert | Report, notice: Notice, targets: Sequence[Target]
) -> NoticeResponse:
    """Write a notice that somebody asked for; RateLimitExceeded, as addresses may be anybody's."""
    in_registry, notices = call.dependencies.in_registry, call.dependencies.store.notices()
    owner, since = record.organization_id, call.now_ms - HOUR_MS
    count = await in_registry(lambda: notices.count_by_hand(owner, since))
    if count + len(targets) > MAX_BY_HAND:
        status = RateLimitStatus(MAX_BY_HAND, 0, call.now_ms + HOUR_MS)
        which = f"Tests and reports sent by hand have {MAX_BY_HAND} deliveries an hour."
        raise rate_limit_error(status, call.now_ms, which)
    await in_registry(lambda: notices.add(notice, targets, call.now_ms))
    deliveries = await in_registry(lambda: notices.deliveries_of(notice.id))
    return NoticeResponse(success=True, data=shown_notice(notice, deliveries))


async def show_history(call: Call, record: Alert | Report) -> Response:
    """GET: the newest notices of an alert or a report."""
    limit = query_integer(call.parameters, "limit", DEFAULT_LIMIT, MAX_LIMIT)
    notices, is_alert = call.dependencies.store.notices(), isinstance(record, Alert)
    source = {"alert_id" if is_alert else "report_id": record.id}
    newest = await call.dependencies.in_registry(lambda: notices.history(limit, **source))
    shown = [shown_notice(*one) for one in newest]
    return json_response(NoticesResponse(success=True, data=shown))


def history_action(operation_id: str, summary: str) -> Action:
    """The request for the history of an alert or a report."""
    return Action(
        access=WRITES,
        run=show_history,
        method="GET",
        path="/history",
        operation_id=operation_id,
        summary=summary,
        parameters=(LIMIT_PARAMETER,),
        response=openapi.Response(200, "the newest notices", NoticesResponse),
        errors=(Malformed,),
    )


def _shown_delivery(delivery: Delivery) -> ShownDelivery:
    return ShownDelivery(
        to=delivery.target,
        kind=delivery.kind,
        state=delivery.state,
        due_at=format_instant(delivery.due_at),
        attempts=delivery.attempts,
        tried_at=format_instant(delivery.tried_at),
        delivered_at=format_instant(delivery.delivered_at),
        problem=delivery.problem or None,
    )
