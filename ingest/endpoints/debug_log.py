"""What the collector takes and refuses, noted for `/debug`."""

from collections.abc import Collection, Iterable, Sequence

from starlette.types import Scope

from ingest.decoding.auth import authenticate
from ingest.decoding.decoder import RejectedItem
from ingest.decoding.request_head import read_request_head, website_outside_body
from ingest.dependencies import Dependencies
from ingest.publishing.recent_requests import (
    RecentRequest,
    RequestError,
)
from schemas.errors import ApiError
from schemas.http.asgi import headers_by_name
from schemas.http.middleware import OnError

MAX_KEPT_REJECTS = 50
"""Refused items that are kept of one request."""
MAX_MESSAGE_LENGTH = 256
"""Characters of a reason; some repeat what was sent."""


def error_recorder(desk: Dependencies, paths: Collection[str]) -> OnError:
    """Notes what these routes refuse, for the website that the request names."""

    def note_refusal(scope: Scope, failure: ApiError) -> None:
        subject_id = _named_subject_id(scope, desk) if scope["path"] in paths else None
        if subject_id is not None:
            desk.publisher.recent_requests.add(
                subject_id, _refused_request(failure, scope["path"], desk.clock())
            )

    return note_refusal


def record_rejects(
    desk: Dependencies, subject_id: str, path: str, rejected: Iterable[RejectedItem]
) -> None:
    """Note what was left out of a request that was taken."""
    if named := tuple(rejected):
        kept = _truncated(named)
        desk.publisher.recent_requests.add(
            subject_id,
            RecentRequest(
                desk.clock(), path, rejected=kept, omitted_rejects=len(named) - len(kept)
            ),
        )


def _refused_request(failure: ApiError, path: str, now_ms: int) -> RecentRequest:
    rejected = tuple(failure.details.get("rejected", ()))
    kept = _truncated(rejected)
    refusal = RequestError(failure.status, failure.code, failure.message[:MAX_MESSAGE_LENGTH])
    return RecentRequest(
        now_ms, path, rejected=kept, error=refusal, omitted_rejects=len(rejected) - len(kept)
    )


def _truncated(rejected: Sequence[RejectedItem]) -> tuple[RejectedItem, ...]:
    """The first of them, in few words."""
    return tuple(
        RejectedItem(each.index, each.code, each.message[:MAX_MESSAGE_LENGTH])
        for each in rejected[:MAX_KEPT_REJECTS]
    )


def _named_subject_id(scope: Scope, desk: Dependencies) -> str | None:
    """Whom a refused request was about, as far as its head says; None when nobody is known."""
    registry = desk.registry.snapshot
    try:
        head = read_request_head(scope)
        sender = authenticate(head, registry, desk.clock())
    except ApiError:  # a wrong key, or none for this website: that is what is to be seen
        sender = None
    if sender is not None:
        return sender.subject_id
    website_id = website_outside_body(scope["query_string"], headers_by_name(scope))
    return website_id if website_id in registry.websites else None
