"""The response to one request as NDJSON: each query's outcome is a line, sent when it is answered.

So a slow query holds up no other. The last line has the members of the response beside `data`.
When data files were deleted under the request, its queries run once more and their lines are sent
again: the last line of a parameter counts.
"""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from query.formats.output_formats import NDJSON
from query.response.json_response import EncodedJson
from query.response.large_response import cancelled_on_disconnect
from query.response.response_budget import ResponseBudget
from schemas.errors import ApiError, Malformed
from schemas.http.error_bodies import encode_json, query_error
from schemas.http.openapi import Parameter

STREAM_PARAMETER = Parameter(
    "stream",
    "`true`: NDJSON, a line for each query as soon as it is answered, and a last one with "
    "`success`, `queryId`, `failed` and `meta`",
    schema={"type": "boolean", "default": False},
)

SendLine = Callable[[EncodedJson], Awaitable[None]]
"""Sends one line."""


def wants_stream(request: Request) -> bool:
    """Whether a request asks for its outcomes one by one; Malformed for another value."""
    value = request.query_params.get("stream", "false")
    if value not in ("true", "false"):
        raise Malformed(f"'stream' is '{value[:40]}'; it must be true or false")
    return value == "true"


class StreamedOutcomes(Response):
    """Sends what `run` sends line by line, then the value that it returns."""

    media_type = NDJSON.media_type

    def __init__(
        self, run: Callable[[SendLine], Awaitable[object]], budget: ResponseBudget
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._run = run
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        try:
            async with cancelled_on_disconnect(receive):
                await self._send(send)
        finally:
            self._budget.close()

    async def _send(self, send: Send) -> None:
        one_at_a_time = asyncio.Lock()

        async def send_line(line: EncodedJson) -> None:
            body = b"".join((*line.pieces, b"\n"))
            async with one_at_a_time:
                await send({"type": "http.response.body", "body": body, "more_body": True})

        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        try:
            end = await self._run(send_line)
        except ApiError as error:
            end = query_error(error)
        await send({"type": "http.response.body", "body": encode_json(end) + b"\n"})
