"""Baseline of the collector: plain Starlette with `send_and_wait` for each event.

It gives the same promise (idempotent producer, acks=all, answer after the acknowledgement) and
checks less: no tenant, no limits, no per-item outcome.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import uvicorn
from aiokafka import AIOKafkaProducer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from schemas.tables.events import CustomEvent

HEADERS = {"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1"}


def plain_app(brokers: str, topic: str) -> Starlette:
    decoder = msgspec.json.Decoder(CustomEvent | list[CustomEvent])
    encoder = msgspec.json.Encoder()
    producers: list[AIOKafkaProducer] = []

    async def track(request: Request) -> JSONResponse:
        body = decoder.decode(await request.body())
        events = body if isinstance(body, list) else [body]
        # `send_and_wait` for each of them, but so that a batch waits once. A task for each event
        # would be an easier mark: a hundred of them wake up whenever aiokafka's buffer drains.
        sent = [
            await producers[0].send(
                topic, encoder.encode(event), key=(event.anonymous_id or "").encode()
            )
            for event in events
        ]
        await asyncio.gather(*sent)
        response = {"status": "success", "type": "custom_event", "count": len(events)}
        return JSONResponse(response, headers=HEADERS)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        producer = AIOKafkaProducer(
            bootstrap_servers=brokers, acks="all", enable_idempotence=True, max_request_size=4 << 20
        )
        await producer.start()
        producers.append(producer)
        yield
        await producer.stop()

    return Starlette(routes=[Route("/track", track, methods=["POST"])], lifespan=lifespan)


def main() -> None:
    brokers, topic, port = sys.argv[1:]
    uvicorn.run(
        plain_app(brokers, topic),
        port=int(port),
        http="httptools",
        loop="uvloop",
        access_log=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
