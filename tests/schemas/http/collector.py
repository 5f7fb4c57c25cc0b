"""`python -m tests.schemas.http.collector`: the bench's collector behind its real protocol."""

import asyncio
from collections.abc import Sequence

import msgspec
from starlette.types import Receive, Scope, Send

from ingest.app import create_app
from ingest.lanes import Answer, Outcome, Ticket
from ingest.protocol import CollectorProtocol
from schemas.clock import now_ms
from schemas.edge.asgi import answer
from schemas.edge.bodies import of_collect
from schemas.edge.serving import serve
from schemas.settings import Settings, load
from tests.ingest.bench import bench


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
