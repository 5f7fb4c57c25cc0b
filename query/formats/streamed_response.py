"""A streamed file; stops when the client leaves or its key is revoked.

The first piece is encoded before the status is sent, so that a query that fails gets an error
response. After that a failure can only close the connection early.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, closing, suppress
from typing import Any, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from query.formats.columns import ResultColumn, Row
from query.formats.output_formats import Format
from query.formats.table_response import disposition_headers
from query.response.large_response import wait_for_disconnect
from schemas.http.asgi import ClientDisconnected

POLL_SECONDS = 1.0
"""Interval of the check whether the response may continue."""

T = TypeVar("T")

Batches = AsyncGenerator[Sequence[Row], None]


class StreamedResponse(Response):
    """A table sent batch by batch, as long as it is `allowed`."""

    def __init__(
        self,
        format_: Format,
        name: str,
        columns: Sequence[ResultColumn],
        batches: Batches,
        allowed: Callable[[], bool],
    ) -> None:
        super().__init__(media_type=format_.media_type, headers=disposition_headers(format_, name))
        del self.headers["content-length"]
        self._pieces = encode_batches(format_, columns, batches)
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        sending = asyncio.create_task(self._send(send))
        disconnect = asyncio.create_task(wait_for_disconnect(receive))
        both = (sending, disconnect)
        try:
            while self._allowed() and not any(task.done() for task in both):
                await asyncio.wait(both, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            disconnect.cancel()
            if not sending.done():
                sending.cancel()
                with suppress(asyncio.CancelledError):
                    await sending
        if not sending.cancelled():
            sending.result()

    async def _send(self, send: Send) -> None:
        async with aclosing(self._pieces) as all_pieces:
            first = await anext(all_pieces)
            status = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **status})
            await _send_piece(send, first)
            async for piece in all_pieces:
                if not self._allowed():
                    raise ClientDisconnected
                await _send_piece(send, piece)
        await send({"type": "http.response.body", "body": b""})


async def encode_batches(
    format_: Format, columns: Sequence[ResultColumn], batches: Batches
) -> AsyncGenerator[bytes, None]:
    """The bytes of a table; the first piece has the first rows."""
    assert format_.writer is not None  # noqa: S101 - for the type checker: JSON is no table
    with closing(await _finished_in_thread(format_.writer, columns)) as writer:
        pending = writer.start()
        async with aclosing(batches) as all_batches:
            async for batch in all_batches:
                pending += await _finished_in_thread(writer.rows, batch)
                if pending:
                    yield pending
                    pending = b""
        last_pieces = writer.end()
        while (piece := await _finished_in_thread(next, last_pieces, None)) is not None:
            yield pending + piece
            pending = b""


async def _finished_in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """The result of work in a thread; when cancelled, the thread has still ended its work."""
    thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        with suppress(Exception):
            await thread
        raise


async def _send_piece(send: Send, piece: bytes) -> None:
    await send({"type": "http.response.body", "body": piece, "more_body": True})
