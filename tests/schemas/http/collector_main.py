"""`python -m tests.schemas.http.collector_main`: the bench's collector behind its real protocol."""

import asyncio
from collections.abc import Sequence

import msgspec
from starlette.types import Receive, Scope, Send

from ingest.app import create_app
from ingest.publishing.partition_queue import Answer, Outcome, Ticket
from ingest.server.http_protocol import CollectorProtocol
from schemas.http.asgi import answer
from schemas.http.error_bodies import of_collect
from schemas.http.server import serve
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings, load
from tests.ingest.in_memory_collector import bench


class Nowhere:
    """Takes everything and keeps nothing."""

    refusing = None

    def put(self, topic: str, place: int, envelopes: Sequence[bytes], items: int) -> Ticket:
        answered = asyncio.get_running_loop().create_future()
        answered.set_result(Answer(Outcome.ACKNOWLEDGED, place % 8, 1))
        return Ticket(answered, 7)


def main(settings: Settings) -> None:
    """Serve until told to stop."""
    registry = bench(settings.data).registry
    organizations = {
        name: msgspec.structs.replace(one, plan="enterprise")
        for name, one in registry.snapshot.organizations.items()
    }
    registry.snapshot = msgspec.structs.replace(registry.snapshot, organizations=organizations)
    app = create_app(Nowhere(), registry, now_ms, settings)

    async def with_long_answers(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/long":
            await answer(send, 200, b" " * int(scope["query_string"]))
        else:
            await app(scope, receive, send)

    serve(
        with_long_answers,
        settings,
        "collector-1",
        settings.collect_port,
        lambda: True,
        of_collect,
        CollectorProtocol,
    )


if __name__ == "__main__":
    main(load())
