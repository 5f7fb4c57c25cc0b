"""Flow control of a connection: when it is read, and whether its client reads."""

import asyncio
import fcntl
import socket
import struct
import termios
from collections import deque
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl

LARGE_READ_BYTES = 64 * 1024
"""Bytes of a read after which others come first."""
DISCARD_PAUSE_SECONDS = 0.05
"""Between two reads of what is read away: 5 MB/s get through, at next to no cost."""
LINGER_ZERO = struct.pack("ii", 1, 0)
"""SO_LINGER of a connection that is reset."""


class ReadFlowControl(FlowControl):
    """When a connection is read.

    Not while requests wait in its pipeline, whoever asks for it; and not at once after a large
    read, because one that always has more would keep all others waiting.
    """

    def __init__(self, transport: asyncio.Transport, waiting: deque[Any]) -> None:
        super().__init__(transport)
        self._waiting = waiting
        self._suspended = False

    def resume_reading(self) -> None:
        if self.read_paused and not self._waiting:
            self.read_paused = False
            if not self._suspended:
                self._transport.resume_reading()

    def pause_for(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Read nothing for so long; with 0, until everybody else was looked at."""
        if not self._suspended and not self._transport.is_closing():
            self._suspended = True
            self._transport.pause_reading()
            loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        self._suspended = False
        if not self.read_paused and not self._transport.is_closing():
            self._transport.resume_reading()


def unread_bytes(transport: asyncio.Transport) -> int:
    """What the client has not taken: that waits here, and in the kernel beside it."""
    buffered = transport.get_write_buffer_size()
    if not buffered:
        return 0
    try:
        queued = fcntl.ioctl(
            transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4)
        )
    except OSError:
        return buffered
    return buffered + int(struct.unpack("i", queued)[0])


def reset_connection(transport: asyncio.Transport) -> None:
    """Close without waiting for anything: what was not taken is thrown away, by the kernel too."""
    with suppress(OSError):
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO
        )
    transport.abort()
