"""GET /health, /health/live, /health/ready: whether the process lives, and whether it can serve."""

from collections.abc import Callable, Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.edge.asgi import answer

Check = Callable[[], str | None]
"""Answers what is wrong in a few words; None when all is well."""

ROUTES = ("/health", "/health/live", "/health/ready")


def health(service: str, checks: Mapping[str, Check]) -> ASGIApp:
    """The endpoint of all three routes; 503 from `/health` and `/health/ready` when not ready."""

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        wrong = {name: said for name, check in checks.items() if (said := check()) is not None}
        body = {
            "status": "ok" if not wrong else "unready",
            "service": service,
            "live": True,
            "ready": not wrong,
            "checks": {name: wrong.get(name, "ok") for name in checks},
        }
        live_only = scope["path"] == "/health/live"
        await answer(send, 200 if live_only or not wrong else 503, body)

    return endpoint
