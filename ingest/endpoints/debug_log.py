"""Records rejected items and requests for GET /debug."""

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
from schemas.telemetry.instruments import REJECTED_ITEMS, start_at_zero

MAX_KEPT_REJECTS = 50
"""Rejected items kept per request."""
MAX_MESSAGE_LENGTH = 256
"""Maximum length of a message; some repeat the value that was sent."""


def error_recorder(dependencies: Dependencies, paths: Collection[str]) -> OnError:
    """Records the errors of these routes for the website of the request."""
    start_at_zero(REJECTED_ITEMS, paths)

    def record_error(scope: Scope, error: ApiError) -> None:
        subject_id = _named_subject_id(scope, dependencies) if scope["path"] in paths else None
        if subject_id is not None:
            dependencies.publisher.recent_requests.add(
                subject_id, _rejected_request(error, scope["path"], dependencies.clock())
            )

    return record_error


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


def _named_subject_id(scope: Scope, dependencies: Dependencies) -> str | None:
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
