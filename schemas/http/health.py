"""GET /health, /health/live, /health/ready."""

import time
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import MethodNotAllowed
from schemas.http.asgi import send_json
from schemas.http.openapi import Operation, Response

HealthCheck = Callable[[], str | None]
"""Returns the problem in a few words; None when healthy."""

HealthCount = Callable[[], int]
Clock = Callable[[], float]

HEALTH_PATHS = ("/health", "/health/live", "/health/ready")


class Health(Struct):
    """Liveness and readiness of the service, and the result of each check."""

    status: Literal["ok", "degraded", "unready"]
    """`degraded`: a check failed that readiness does not depend on; the service is ready."""
    service: str
    live: bool
    ready: bool
    checks: dict[str, str]
    counts: dict[str, int] | UnsetType = UNSET
    """Counters for operators; they do not affect readiness."""


HEALTH_OPERATIONS = tuple(
    Operation(
        method="GET",
        path=path,
        operation_id=name,
        tag="Health",
        summary=meaning,
        responses=(Response(200, "healthy", Health), Response(503, "unhealthy", Health)),
        errors=(),
        security=({},),
    )
    for path, name, meaning in zip(
        HEALTH_PATHS,
        ("health", "live", "ready"),
        ("Health of the service", "Liveness probe", "Readiness probe"),
        strict=True,
    )
)


def remembered(
    uncached: HealthCheck, seconds: float = 1.0, clock: Clock = time.monotonic
) -> HealthCheck:
    """Cache the result of a check that reads files, because health may be requested often."""
    checked_at = float("-inf")
    result: str | None = None

    def check() -> str | None:
        nonlocal checked_at, result
        if (now := clock()) - checked_at >= seconds:
            checked_at, result = now, uncached()
        return result

    return check


def health_endpoint(
    service: str,
    checks: Mapping[str, HealthCheck],
    counts: Mapping[str, HealthCount] | None = None,
    spared: Mapping[str, HealthCheck] | None = None,
    stopping: HealthCheck = lambda: None,
) -> ASGIApp:
    """Endpoint of the three routes; `/health` and `/health/ready` return 503 when not ready.

    A failed check of `spared` is reported, and does not affect readiness. `stopping` does, and is
    listed only then.
    """
    all_checks = {**checks, **(spared or {})}

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("GET")
        problems = {
            name: problem for name, check in all_checks.items() if (problem := check()) is not None
        }
        ready = checks.keys().isdisjoint(problems) and stopping() is None
        body: dict[str, object] = {
            "status": "unready" if not ready else "degraded" if problems else "ok",
            "service": service,
            "live": True,
            "ready": ready,
            "checks": {name: problems.get(name, "ok") for name in all_checks}
            | ({"process": reason} if (reason := stopping()) else {}),
        }
        if counts:
            body["counts"] = {name: count() for name, count in counts.items()}
        live_only = scope["path"] == "/health/live"
        await send_json(send, 200 if live_only or ready else 503, body)

    return endpoint
