"""What health says of a process: its checks, its heartbeat, and while it drains."""

import os
import signal
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest

from schemas.http.health import STOPPING, heartbeat_health, remembered
from schemas.http.server import accept_all
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import REFUSED, Heartbeat, write_heartbeat
from tests.installation import eventually
from tests.schemas.http.services import RunningService, collector, query


def test_a_flood_of_health_checks_reads_files_once_a_second() -> None:
    now, looks = [100.0], [0]

    def look() -> str:
        looks[0] += 1
        return f"look {looks[0]}"

    check = remembered(look, clock=lambda: now[0])

    results = []
    for second in (0, 0, 0.9, 1.0, 1.1, 5.0):
        now[0] = 100 + second
        results.append(check())

    assert results == ["look 1", "look 1", "look 1", "look 2", "look 2", "look 3"]


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


NAME = "worker-1"


def passed(run: Path) -> tuple[bool, bool]:
    """Whether the process is live and ready."""
    health = heartbeat_health(run, NAME)
    return health.live, health.ready


def beat(run: Path, state: str = "ready", pid: int | None = None, reason: str = "") -> None:
    write_heartbeat(run, Heartbeat(NAME, pid or os.getpid(), now_ms(), state, reason=reason))


def test_a_process_that_works_is_live_and_ready(tmp_path: Path) -> None:
    beat(tmp_path)

    assert passed(tmp_path) == (True, True)


def test_a_process_that_is_not_ready_says_why(tmp_path: Path) -> None:
    beat = Heartbeat(NAME, os.getpid(), now_ms(), "unready", unready_reason="Kafka is away")
    write_heartbeat(tmp_path, beat)
    health = heartbeat_health(tmp_path, NAME)

    assert (health.live, health.ready, health.status) == (True, False, "unready")
    assert health.checks["process"] == "Kafka is away"


def test_a_process_without_a_heartbeat_is_live_and_not_ready(tmp_path: Path) -> None:
    beat(tmp_path, pid=1)  # of its predecessor

    assert passed(tmp_path) == (True, False)


def test_a_process_that_hangs_is_not_live(tmp_path: Path) -> None:
    beat(tmp_path)
    os.utime(tmp_path / f"{NAME}.json", (0, 0))

    assert passed(tmp_path) == (False, False)


def test_a_heartbeat_that_a_full_disk_left_old_counts_while_it_is_touched(tmp_path: Path) -> None:
    write_heartbeat(tmp_path, Heartbeat(NAME, os.getpid(), 1))

    assert passed(tmp_path) == (True, True)


@pytest.mark.parametrize(
    ("state", "ready"), [(REFUSED, False), ("waiting", False), ("ready", True)]
)
def test_what_is_not_stored_is_named(tmp_path: Path, state: str, ready: bool) -> None:
    beat(tmp_path, state, reason="topic events was recreated")
    health = heartbeat_health(tmp_path, NAME)

    assert (health.live, health.ready) == (True, ready)
    assert "topic events was recreated" in health.checks.values()
