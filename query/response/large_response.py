"""Sends a large response in pieces and stops when the client leaves.

The server closes a connection on which nothing is read for `TIDEMARK_STALLED_SECONDS`. Bytes count
against the budget until they are sent, so slow clients hold a limited amount of memory.
"""

import asyncio
from asyncio import current_task
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from query.response.response_budget import ResponseBudget
from schemas.http.asgi import ClientDisconnected

SEND_BYTES = 262_144
"""Size of one send; larger responses wait for the client after each."""


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


@asynccontextmanager
async def cancelled_on_disconnect(receive: Receive) -> AsyncIterator[None]:
    """Cancels the work in its body, and raises ClientDisconnected, when the client has left.

    The body of the request must have been read.
    """
    has_left = False
    working = current_task()

    async def watch() -> None:
        nonlocal has_left
        await wait_for_disconnect(receive)
        has_left = True
        if working is not None:
            working.cancel()

    watching = asyncio.ensure_future(watch())
    try:
        yield
    except asyncio.CancelledError:
        if not has_left or working is None or working.uncancel():
            raise  # cancelled from outside as well
        raise ClientDisconnected from None
    finally:
        watching.cancel()


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
