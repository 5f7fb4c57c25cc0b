"""A proxy in front of a server of this machine, which looks at the bytes or changes their form."""

import socket
import threading
from contextlib import ExitStack, suppress
from typing import Self


class TcpProxy:
    """Hands bytes on to a port of this machine, in both directions."""

    def __init__(self, target_port: int) -> None:
        self._target = ("127.0.0.1", target_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def serve(self, client: socket.socket) -> None:
        """Serve a connection until both sides have closed it."""
        with ExitStack() as opened, suppress(ConnectionError):  # a stopped server cuts clients off
            opened.enter_context(client)
            server = opened.enter_context(socket.create_connection(self._target))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pass_on, args=(client, server, True), daemon=True).start()
            self._pass_on(server, client)

    def sees(self, data: bytes) -> None:
        """Look at what a client sends."""

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def _pass_on(
        self, source: socket.socket, target: socket.socket, is_request: bool = False
    ) -> None:
        with suppress(OSError):  # the other direction ended
            while data := source.recv(65_536):
                if is_request:
                    self.sees(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
