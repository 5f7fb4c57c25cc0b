"""GET /health, /health/live, /health/ready; what they say of a process that stops, or has no HTTP.

A stopping server says that it is not ready, and serves until nobody is sent to it (`Drain`): a load
balancer needs a moment to notice that, and a client that keeps its connection learns from
`Connection: close` that it needs another one. Only then is the listener closed.

A worker's health is its heartbeat, which the loop that does the work writes: a process that hangs
is not live, although a thread of it still responds. One that has not written a heartbeat yet is
starting: live, and not ready.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import MethodNotAllowed
from schemas.http.asgi import send_json
from schemas.http.openapi import Operation, Response
from schemas.runtime.heartbeat import STALE_AFTER_MS, heartbeat_path, read_heartbeat

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


STOPPING = "the process is stopping"
POLL_SECONDS = 0.05
START_SECONDS = 3.0


class Drain:
    """Whether the server is about to stop; shared by its health checks and connections."""

    begun = False

    def problem(self) -> str | None:
        """The health check: a process that stops is not ready."""
        return STOPPING if self.begun else None


async def until_ready(ready: Callable[[], bool], seconds: float = START_SECONDS) -> None:
    """Return when the process can serve, so that it listens only then.

    After so many seconds it listens anyway: health checks and whatever needs no other process
    respond, and everything else gets a 503 with its reason.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not ready():  # noqa: ASYNC110 - readiness is a check, without an event
                await asyncio.sleep(POLL_SECONDS)


def heartbeat_health(run: Path, name: str) -> Health:
    """Health by the heartbeat of this process; on a full disk its file is only touched."""
    own = read_heartbeat(heartbeat_path(run, name))
    if own is None or own.pid != os.getpid():
        return _health(name, live=True, problem="starting")
    if (seconds := _age_seconds(run, name)) * 1000 > STALE_AFTER_MS:
        return _health(name, live=False, problem=f"no heartbeat for {seconds:.0f} s")
    if own.state != "ready":
        return _health(name, live=True, problem=own.reason or own.unready_reason or own.state)
    return _health(name, live=True, problem=None, reason=own.reason)


def _age_seconds(run: Path, name: str) -> float:
    try:
        return max(0.0, time.time() - heartbeat_path(run, name).stat().st_mtime)
    except OSError:
        return 0.0  # being replaced


def _health(name: str, live: bool, problem: str | None, reason: str = "") -> Health:
    ready = problem is None
    return Health(
        status="unready" if not ready else "degraded" if reason else "ok",
        service=name,
        live=live,
        ready=ready,
        checks={"process": problem or "ok", "storing": reason or "ok"},
    )
