"""Relay: a port in front of a collector, which notes the status of each reply.

What ends an outage can be done at the first failure: so the first attempt of a client fails, and
the next one need not, however long it takes to come.
"""

import re
import socket
import struct
import threading
from collections.abc import Callable, Container
from contextlib import suppress
from types import TracebackType
from typing import Self

STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
CLOSED = 0
"""The status of a connection that was reset without a reply."""
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER for a connection that is reset when it is closed."""


class Relay:
    """Passes connections on to a port; to none of them: resets them."""

    def __init__(
        self,
        port: int | None,
        after_failure: Callable[["Relay"], None],
        successes: Container[int] = range(200, 300),
    ) -> None:
        self.port = port
        self._successes = successes
        self._after_failure = after_failure
        """Called with each reply that is no success, before it is passed on, and each reset."""
        self.statuses: list[int] = []
        """Of each reply; CLOSED for a connection that was reset."""
        self._listener = socket.create_server(("127.0.0.1", 0))

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # the end of the test
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        """Pass on what a connection sends: each request to the port of its time."""
        port, server = None, None
        with client, suppress(OSError):
            while sent := client.recv(65_536):
                if self.port is None:
                    self._note(CLOSED)
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    return
                if server is None or port != self.port:
                    port = self.port
                    server = socket.create_connection(("127.0.0.1", port))
                    threading.Thread(target=self._reply, args=(server, client), daemon=True).start()
                server.sendall(sent)

    def _reply(self, server: socket.socket, client: socket.socket) -> None:
        with server, suppress(OSError):
            while received := server.recv(65_536):
                for status in STATUS.findall(received):
                    self._note(int(status))
                client.sendall(received)
            client.shutdown(socket.SHUT_RDWR)

    def _note(self, status: int) -> None:
        self.statuses.append(status)
        if status not in self._successes:
            self._after_failure(self)
