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
"""Bytes of a read after which other connections are read first."""
DISCARD_PAUSE_SECONDS = 0.05
"""Pause between reads of discarded input, which bounds it to 5 MB/s."""
LINGER_ZERO = struct.pack("ii", 1, 0)
"""SO_LINGER of a connection that is closed with RST."""


class ReadFlowControl(FlowControl):
    """Pauses reading while pipelined requests wait, and after a large read.

    A client that always has more to send would otherwise keep all others waiting.
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
        """Read nothing for some seconds; 0: until all other connections were read."""
        if not self._suspended and not self._transport.is_closing():
            self._suspended = True
            self._transport.pause_reading()
            loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        self._suspended = False
        if not self.read_paused and not self._transport.is_closing():
            self._transport.resume_reading()


def unread_bytes(transport: asyncio.Transport) -> int:
    """Bytes that the client has not read: in our buffer and in the kernel's."""
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
    """Close at once with RST; unsent bytes are dropped."""
    with suppress(OSError):
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO
        )
    transport.abort()
