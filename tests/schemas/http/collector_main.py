"""`python -m tests.schemas.http.collector_main`: the bench's collector behind its real protocol."""

import asyncio
from collections.abc import Sequence

import msgspec
from starlette.types import Receive, Scope, Send

from ingest.publishing.partition_queue import DeliveryReport, DeliveryStatus, PendingDelivery
from ingest.server.http_protocol import CollectorProtocol
from schemas.http.asgi import send_json
from schemas.http.error_bodies import collect_error
from schemas.http.server import serve
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import load_settings
from schemas.runtime.settings import Settings
from tests.ingest.in_memory_collector import in_memory_collector
from tests.ingest.lone_collector import lone_collector


class DiscardingProducer:
    """Takes everything and keeps nothing."""

    unavailable_reason = None
    partition_problem = None

    def enqueue(
        self, topic: str, place: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        answered = asyncio.get_running_loop().create_future()
        answered.set_result(DeliveryReport(DeliveryStatus.ACKNOWLEDGED, place % 8, 1))
        return PendingDelivery(answered, 7)


def main(settings: Settings) -> None:
    """Serve until SIGTERM."""
    registry = in_memory_collector(settings.data).registry
    organizations = {
        name: msgspec.structs.replace(one, plan="enterprise")
        for name, one in registry.snapshot.organizations.items()
    }
    registry.snapshot = msgspec.structs.replace(registry.snapshot, organizations=organizations)
    app = lone_collector(DiscardingProducer(), registry, now_ms, settings)

    async def with_long_answers(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/long":
            await send_json(send, 200, b" " * int(scope["query_string"]))
        else:
            await app(scope, receive, send)

    serve(
        with_long_answers,
        settings,
        "collector-1",
        settings.collect_port,
        lambda: None,
        collect_error,
        CollectorProtocol,
        warning=lambda: app.untrusted_proxies.problem,
        drain=app.drain,
    )


if __name__ == "__main__":
    main(load_settings())
