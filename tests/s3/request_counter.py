"""A proxy in front of an S3 server that lists the requests which pass it."""

import re
import socket
import threading
from contextlib import suppress
from typing import Self

REQUEST_LINE = re.compile(rb"(GET|HEAD|PUT|POST|DELETE) (\S+) HTTP/1\.1\r\n")


class RequestCounter:
    """Hands bytes on to a port of this machine; `requests` has method and path of each request.

    Requests are recognized by their first line, so bodies must not contain one.
    """

    def __init__(self, target_port: int) -> None:
        self._target = ("127.0.0.1", target_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[tuple[str, str]] = []

    @property
    def endpoint(self) -> str:
        """For `AWS_ENDPOINT_URL`."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            server = socket.create_connection(self._target)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
            threading.Thread(target=self._responses, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError), server:
            while data := client.recv(65_536):
                found = REQUEST_LINE.finditer(data)
                self.requests += [(each[1].decode(), each[2].decode()) for each in found]
                server.sendall(data)

    def _responses(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError), client:
            while data := server.recv(65_536):
                client.sendall(data)
