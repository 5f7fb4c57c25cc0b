"""Bodies unpacked: gzip or nothing, never beyond the limit."""

import zlib

from schemas.failures import Malformed, TooLarge

GZIP = 31
"""zlib's `wbits` for one gzip member and nothing else."""


def unpack(body: bytes, encoding: str, most: int) -> bytes:
    """The body as it was before it was packed; Malformed or TooLarge."""
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip"):
        raise Malformed(f"Content-Encoding '{encoding}' is not taken; send gzip or identity")
    return _gunzip(body, most)


def _gunzip(body: bytes, most: int) -> bytes:
    # Not gzip.decompress: 97 KB of it can hold 100 MB, and this stops at the limit.
    member = zlib.decompressobj(wbits=GZIP)
    try:
        text = member.decompress(body, most + 1)
    except zlib.error:
        raise Malformed("The body is not valid gzip") from None
    if len(text) > most:
        raise TooLarge(f"The body may have at most {most:,} bytes, after decompression too")
    if not member.eof or member.unused_data:
        raise Malformed("The body must be one complete gzip member")
    return text
