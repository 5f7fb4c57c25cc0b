"""Fixture: clients of services that answer as scripts say."""

from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from query.client import Client
from tests.query.client.scripted_service import Playing, Said, Script, handler


@pytest.fixture
def playing() -> Iterator[Playing]:
    servers: list[ThreadingHTTPServer] = []

    def play(*answers: Said, **more: Any) -> tuple[Client, Script]:
        script = Script(list(answers), [], [])
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler(script))
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        return Client(address, "tk_x", address, sleep=script.paused.append, **more), script

    yield play
    for server in servers:
        server.shutdown()
        server.server_close()
