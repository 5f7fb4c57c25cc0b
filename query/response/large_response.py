"""Sends a large response in pieces and stops when the client leaves.

The server closes a connection on which nothing is read for `TIDEMARK_STALLED_SECONDS`. Bytes count
against the budget until they are sent, so slow clients hold a limited amount of memory.
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
"""Size of one send; larger responses wait for the client after each."""

T = TypeVar("T")


class LargeResponse(Response):
    """A response in pieces; closes its budget when it was sent or the client has left."""

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
    """The pieces, small ones joined; each is released as soon as it is taken."""
    while pieces:
        batch, size = [], 0
        while pieces and size < SEND_BYTES:
            batch.append(pieces.popleft())
            size += len(batch[-1])
        yield b"".join(batch)


async def cancel_on_disconnect(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Run the work; cancel it as soon as the client has left.

    The body of the request must have been read.
    """
    working = asyncio.ensure_future(work)
    disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
    try:
        await asyncio.wait((working, disconnect), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnected
        return working.result()
    finally:
        disconnect.cancel()
        if not working.done():
            working.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await working


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
