"""Request bodies: gzip decompression with a size limit."""

import zlib
from collections.abc import Iterator

from starlette.types import Receive, Scope

from ingest.decoding.limits import BODY_TIMEOUT_SECONDS, MAX_BODY_BYTES
from ingest.decoding.lone_surrogates import replace_lone_surrogates
from ingest.decoding.request_head import RequestHead
from schemas.errors import Malformed, PayloadTooLarge
from schemas.http.admission import BODY_SIZE_KEY
from schemas.http.asgi import read_body

GZIP_WBITS = 31
"""zlib's `wbits` for one gzip member and nothing else."""

BLOCK_BYTES = 64 * 1024
"""Bytes per decompression step; at most so many are not counted when a body breaks off."""


async def receive_body(scope: Scope, receive: Receive, head: RequestHead) -> bytes:
    """The decompressed body without lone surrogates; RequestTimeout, PayloadTooLarge or Malformed.

    The decompressed size counts against the rate limit of the sender.
    """
    body = await read_body(scope, receive, MAX_BODY_BYTES, BODY_TIMEOUT_SECONDS)
    scope[BODY_SIZE_KEY] = len(body)
    if not head.encoding:
        return replace_lone_surrogates(body)
    parts, decompressed_bytes = [], 0
    for part in decompress(body, head.encoding, MAX_BODY_BYTES):
        parts.append(part)
        decompressed_bytes += len(part)
        scope[BODY_SIZE_KEY] = max(decompressed_bytes, len(body))
    scope[BODY_SIZE_KEY] = decompressed_bytes
    return replace_lone_surrogates(b"".join(parts))


def decompress(body: bytes, encoding: str, max_bytes: int) -> Iterator[bytes]:
    """The decompressed body in parts; Malformed or PayloadTooLarge at the first bad part."""
    if encoding in ("", "identity"):
        return iter((body,))
    if encoding not in ("gzip", "x-gzip"):
        raise Malformed(f"Content-Encoding '{encoding}' is not supported; send gzip or identity")
    return _gunzip(body, max_bytes)


def _gunzip(body: bytes, max_bytes: int) -> Iterator[bytes]:
    # Not gzip.decompress: 97 KB can decompress to 100 MB, and this stops at the limit.
    member, bytes_left = zlib.decompressobj(wbits=GZIP_WBITS), max_bytes
    while True:
        try:
            part = member.decompress(body, BLOCK_BYTES)
        except zlib.error:
            raise Malformed("The body is not valid gzip") from None
        yield part
        bytes_left -= len(part)
        if bytes_left < 0:
            raise PayloadTooLarge(
                f"The body may have at most {max_bytes:,} bytes, after decompression too"
            )
        body = member.unconsumed_tail
        if member.eof or len(part) < BLOCK_BYTES:
            break
    if not member.eof or member.unused_data:
        raise Malformed("The body must be one complete gzip member")
