"""Large response: bytes that are at hand, sent in pieces to a client that must go on reading.

The protocol ends a connection on which nothing is read for `TIDEMARK_STALLED_SECONDS`; until they
are sent the bytes are counted, so that many such connections hold no more than a few.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from query.response.response_budget import ResponseBudget
from schemas.http.asgi import ClientDisconnected

SEND_BYTES = 262_144
"""What is sent in one go; larger answers wait for the client after each piece of that size."""

T = TypeVar("T")


class LargeResponse(Response):
    """An answer of pieces, whose budget is closed when it has been sent or the client has left."""

    def __init__(self, pieces: Iterable[bytes], budget: ResponseBudget, **more: Any) -> None:
        super().__init__(**more)
        self._pieces = deque([*pieces] or [b""])
        self._budget = budget
        self.headers["content-length"] = str(sum(map(len, self._pieces)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        try:
            start = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **start})
            for body in merge_pieces(self._pieces):
                more = {"more_body": bool(self._pieces)}
                await send({"type": "http.response.body", "body": body, **more})
        finally:
            self._budget.close()


def merge_pieces(pieces: deque[bytes]) -> Iterator[bytes]:
    """The pieces, small ones together; each is let go of as soon as it is taken."""
    while pieces:
        held, size = [], 0
        while pieces and size < SEND_BYTES:
            held.append(pieces.popleft())
            size += len(held[-1])
        yield b"".join(held)


async def cancel_on_disconnect(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What the work gives; it is cancelled as soon as the client has left.

    The body of the request must have been read.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(wait_for_disconnect(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnected
        return working.result()
    finally:
        leaving.cancel()
        if not working.done():
            working.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await working


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
