"""Client of Trino's HTTP protocol: a statement is posted, its pages of rows are fetched in turn.

A statement whose rows are not read to the end is cancelled on the server, also when the caller was
cancelled; the server ends it after its time limit in any case.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import aiohttp
from msgspec import Struct, json

from query.engine.trino.address import TrinoAddress
from schemas.telemetry.spans import CURRENT_SPAN
from schemas.telemetry.traceparent import HEADER

STATEMENT_PATH = "/v1/statement"
BUSY = (502, 503, 504)
"""HTTP status with which a coordinator asks to try again."""
RETRY_SECONDS = 0.1
CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
"""Longest silence: the coordinator answers every request within a second or so."""
CANCEL_SECONDS = 5.0
MAX_STAGES = 600
"""Stages of a query that Trino permits (its default is 150): metrics of visits, each with distinct
counts and facts of the visitor in filters, have some 200."""


class TrinoColumn(Struct, frozen=True):
    """A column of a result."""

    name: str
    type: str


class TrinoError(Exception):
    """The server refused a statement or failed."""

    def __init__(self, name: str, kind: str, message: str) -> None:
        super().__init__(message)
        self.name = name
        """Such as EXCEEDED_TIME_LIMIT."""
        self.kind = kind
        """Such as USER_ERROR, INSUFFICIENT_RESOURCES."""


class TrinoUnreachable(Exception):
    """The coordinator does not answer."""


class _Busy(TrinoUnreachable):
    """The coordinator asks to try again."""


class Page(Struct, frozen=True):
    """Rows of a result, as JSON has them."""

    columns: Sequence[TrinoColumn]
    rows: Sequence[Sequence[Any]]
    size: int
    """Bytes of the page in JSON."""


class _ErrorBody(Struct, rename="camel"):
    message: str = ""
    error_name: str = ""
    error_type: str = ""

    def as_exception(self) -> TrinoError:
        return TrinoError(self.error_name, self.error_type, self.message)


class _Reply(Struct, rename={"next_url": "nextUri"}):
    """The parts of a reply that are needed."""

    next_url: str | None = None
    columns: list[TrinoColumn] | None = None
    data: list[list[Any]] | None = None
    error: _ErrorBody | None = None


_DECODER = json.Decoder(_Reply)


class TrinoClient:
    """Statements of one user of one coordinator; each has connections of its own."""

    def __init__(self, address: TrinoAddress, source: str = "tidemark") -> None:
        self._address = address
        self._source = source

    async def pages(
        self, text: str, seconds: float, tenant: str | None = None
    ) -> AsyncGenerator[Page, None]:
        """The pages of the result of one statement; close it when stopping early.

        The tenant is in its source and in its client tag: a resource group can be made of either.
        """
        async with self._session() as session:
            next_url: str | None = None
            try:
                reply, size = await self._request(
                    session.post(
                        self._address.url + STATEMENT_PATH,
                        data=text.encode(),
                        headers=self._headers(seconds, tenant),
                    )
                )
                while True:
                    next_url = reply.next_url
                    if reply.error is not None:
                        raise reply.error.as_exception()
                    if reply.columns and reply.data:
                        yield Page(reply.columns, reply.data, size)
                    if next_url is None:
                        return
                    reply, size = await self._next(session, next_url)
            finally:
                if next_url is not None:
                    await asyncio.shield(_cancel(session, next_url))

    def _headers(self, seconds: float, tenant: str | None) -> Mapping[str, str]:
        return {
            "X-Trino-User": self._address.user,
            "X-Trino-Source": f"{self._source}:{tenant}" if tenant else self._source,
            "X-Trino-Catalog": self._address.catalog,
            "X-Trino-Schema": self._address.schema,
            "X-Trino-Time-Zone": "UTC",
            "X-Trino-Client-Tags": f"organization:{tenant}" if tenant else "",
            "X-Trino-Session": (
                f"query_max_run_time={max(seconds, 0.1):.3f}s,query_max_stage_count={MAX_STAGES}"
            ),
            **trace_header(),
        }

    async def _next(self, session: aiohttp.ClientSession, url: str) -> tuple[_Reply, int]:
        """The next page; asked for again while the coordinator says that it is busy."""
        while True:
            try:
                return await self._request(session.get(url))
            except _Busy:
                await asyncio.sleep(RETRY_SECONDS)

    async def _request(
        self, request: AbstractAsyncContextManager[aiohttp.ClientResponse]
    ) -> tuple[_Reply, int]:
        try:
            async with request as reply:
                body = await reply.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise TrinoUnreachable(f"{self._address}: {type(error).__name__}") from error
        if reply.status == 200:
            return _DECODER.decode(body), len(body)
        problem = f"{self._address}: HTTP {reply.status}"
        raise _Busy(problem) if reply.status in BUSY else TrinoUnreachable(problem)

    def _session(self) -> aiohttp.ClientSession:
        address = self._address
        auth = aiohttp.BasicAuth(address.user, address.password) if address.password else None
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS)
        return aiohttp.ClientSession(auth=auth, timeout=timeout)


def trace_header() -> Mapping[str, str]:
    """The span that waits for the statement: Trino's own traces continue it."""
    span = CURRENT_SPAN.get()
    return {} if span is None else {HEADER: span.traceparent.decode()}


async def _cancel(session: aiohttp.ClientSession, url: str) -> None:
    timeout = aiohttp.ClientTimeout(total=CANCEL_SECONDS)
    with suppress(aiohttp.ClientError, TimeoutError):
        async with session.delete(url, timeout=timeout):
            pass
