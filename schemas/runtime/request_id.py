"""The id of the request that is being handled: in its log lines and in its response."""

import random
import re
from contextvars import ContextVar

REQUEST_ID: ContextVar[str] = ContextVar("tidemark.request_id", default="")
"""Empty outside of a request."""

VALID_ID = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,63}")


def begin_request(sent: bytes | None) -> bytes:
    """The id that the sender or a proxy chose, if it is valid; else a new one."""
    if sent is None or not VALID_ID.fullmatch(sent):
        sent = b"%016x" % random.getrandbits(64)
    REQUEST_ID.set(sent.decode())
    return sent
