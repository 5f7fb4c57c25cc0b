"""A stopping service says that it is not ready, still serves, and lets connections end."""

import os
import signal
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest

from schemas.http.health import STOPPING
from schemas.http.server import accept_all
from tests.installation import eventually
from tests.schemas.http.services import RunningService, collector, query


@pytest.fixture(params=["collector", "query"])
def draining(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningService]:
    """A service that drains for long after its signal."""
    start = {"collector": collector, "query": query}[request.param]
    with start(tmp_path, drain_seconds=60, log_level="error") as service:
        yield service
        if psutil.pid_exists(service.pid):
            os.kill(service.pid, signal.SIGTERM)  # the second signal ends the drain


def post(service: RunningService, connection: HTTPConnection) -> tuple[int, str | None]:
    """Status and `Connection` header of a request on this connection."""
    request, *lines = service.head.splitlines()
    headers = dict(line.split(": ", 1) for line in lines)
    connection.request("POST", request.split()[1], service.body, headers)
    response = connection.getresponse()
    response.read()
    return response.status, response.getheader("connection")


def test_it_serves_and_is_not_ready_until_the_drain_is_over(draining: RunningService) -> None:
    kept = HTTPConnection("127.0.0.1", draining.port, timeout=10)
    before = post(draining, kept)
    os.kill(draining.pid, signal.SIGTERM)
    eventually(lambda: draining.call(path="/health/ready").status == 503)
    health = draining.call(path="/health").json
    alive = draining.call(path="/health/live").status
    on_kept = post(draining, kept)
    on_new = post(draining, HTTPConnection("127.0.0.1", draining.port, timeout=10))
    os.kill(draining.pid, signal.SIGTERM)
    eventually(lambda: psutil.Process(draining.pid).status() == psutil.STATUS_ZOMBIE)

    assert before == (200, None)
    assert (health["status"], health["checks"]["process"], alive) == ("unready", STOPPING, 200)
    assert on_kept == (200, "close")
    assert on_new == (200, "close")


def test_without_a_drain_it_stops_at_once(tmp_path: Path) -> None:
    with collector(tmp_path, drain_seconds=0, log_level="error") as service:
        os.kill(service.pid, signal.SIGTERM)
        eventually(lambda: psutil.Process(service.pid).status() == psutil.STATUS_ZOMBIE)
        with pytest.raises(ConnectionRefusedError):
            service.connect()


def test_every_connection_that_waits_is_accepted() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=8) as listener:
        listener.setblocking(False)
        clients = [socket.create_connection(listener.getsockname()) for _ in range(3)]
        accepted = accept_all(listener)
        addresses = {client.getsockname() for client in clients}

        assert {connection.getpeername() for connection in accepted} == addresses
        assert accept_all(listener) == []
        for connection in (*clients, *accepted):
            connection.close()
