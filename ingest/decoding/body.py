"""Bodies unpacked: gzip or nothing, never beyond the limit."""

import zlib
from collections.abc import Iterator

from starlette.types import Receive, Scope

from ingest.decoding.limits import BODY_TIMEOUT_SECONDS, MAX_BODY_BYTES
from ingest.decoding.request_head import RequestHead
from schemas.errors import Malformed, PayloadTooLarge
from schemas.http.admission import BODY_SIZE_KEY
from schemas.http.asgi import read_body

GZIP_WBITS = 31
"""zlib's `wbits` for one gzip member and nothing else."""

BLOCK_BYTES = 64 * 1024
"""Bytes that are unpacked at once: so little is uncounted of a body that breaks off."""


async def receive_body(scope: Scope, receive: Receive, head: RequestHead) -> bytes:
    """The body, arrived in time and unpacked within its limit."""
    body = await read_body(scope, receive, MAX_BODY_BYTES, BODY_TIMEOUT_SECONDS)
    scope[BODY_SIZE_KEY] = len(body)
    if not head.encoding:
        return body
    parts, unpacked = [], 0
    for part in decompress(body, head.encoding, MAX_BODY_BYTES):
        parts.append(part)
        unpacked += len(part)
        scope[BODY_SIZE_KEY] = max(unpacked, len(body))  # who sent it pays for what was unpacked
    scope[BODY_SIZE_KEY] = unpacked
    return b"".join(parts)


def decompress(body: bytes, encoding: str, most: int) -> Iterator[bytes]:
    """The body as it was before it was packed, in parts; Malformed or TooLarge where it ends."""
    if encoding in ("", "identity"):
        return iter((body,))
    if encoding not in ("gzip", "x-gzip"):
        raise Malformed(f"Content-Encoding '{encoding}' is not taken; send gzip or identity")
    return _gunzip(body, most)


def _gunzip(body: bytes, most: int) -> Iterator[bytes]:
    # Not gzip.decompress: 97 KB of it can hold 100 MB, and this stops at the limit.
    member, left = zlib.decompressobj(wbits=GZIP_WBITS), most
    while True:
        try:
            part = member.decompress(body, BLOCK_BYTES)
        except zlib.error:
            raise Malformed("The body is not valid gzip") from None
        yield part
        left -= len(part)
        if left < 0:
            raise PayloadTooLarge(
                f"The body may have at most {most:,} bytes, after decompression too"
            )
        body = member.unconsumed_tail
        if member.eof or len(part) < BLOCK_BYTES:
            break
    if not member.eof or member.unused_data:
        raise Malformed("The body must be one complete gzip member")
