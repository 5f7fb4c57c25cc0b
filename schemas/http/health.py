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
"""Answers what is wrong in a few words; None when all is well."""

HealthCount = Callable[[], int]
Clock = Callable[[], float]

HEALTH_PATHS = ("/health", "/health/live", "/health/ready")


class Health(Struct):
    """Whether the process lives and can serve; what is wrong of each thing that it uses."""

    status: Literal["ok", "degraded", "unready"]
    """`degraded`: something is wrong that it can do without; it serves, and is ready."""
    service: str
    live: bool
    ready: bool
    checks: dict[str, str]
    counts: dict[str, int] | UnsetType = UNSET
    """What is worth knowing though it makes nothing unready."""


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
    """A check that reads files, made at most once in so long: anybody may ask, and as often."""
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
) -> ASGIApp:
    """The endpoint of all three routes; 503 from `/health` and `/health/ready` when not ready.

    What is wrong with those of `spared` is told, and makes nothing unready.
    """
    all_checks = {**checks, **(spared or {})}

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("GET")
        problems = {
            name: problem for name, check in all_checks.items() if (problem := check()) is not None
        }
        ready = checks.keys().isdisjoint(problems)
        body: dict[str, object] = {
            "status": "ok" if not problems else "degraded" if ready else "unready",
            "service": service,
            "live": True,
            "ready": ready,
            "checks": {name: problems.get(name, "ok") for name in all_checks},
        }
        if counts:
            body["counts"] = {name: count() for name, count in counts.items()}
        live_only = scope["path"] == "/health/live"
        await send_json(send, 200 if live_only or ready else 503, body)

    return endpoint
