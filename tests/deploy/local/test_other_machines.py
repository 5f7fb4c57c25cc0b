"""Processes of other machines are asked for their health."""

import http.server
import threading
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from deploy.local.other_machines import Address, RemoteProcess, ask_processes, parse_address
from deploy.local.processes.process import ProcessState
from deploy.local.processes.process_file import ProcessStatus
from deploy.local.status import is_down
from schemas.http.health import Health
from schemas.http.telemetry_server import TelemetryServer
from tests.installation import free_port


def serving(name: str, *, live: bool = True, ready: bool = True, **checks: str) -> Address:
    """A process with this health, on this machine."""
    health = Health(
        "ok" if ready and not checks else "unready", name, live, ready, {"process": "ok", **checks}
    )
    port = TelemetryServer(lambda: health, CollectorRegistry()).start("127.0.0.1", 0)
    assert port is not None
    return Address("127.0.0.1", port)


@pytest.fixture
def stranger() -> Iterator[Address]:
    """A server that is no process of Tidemark."""
    handler = http.server.SimpleHTTPRequestHandler
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Address("127.0.0.1", server.server_port)
        server.shutdown()


def test_each_answer_says_name_state_and_problem(stranger: Address) -> None:
    ready = serving("collector-1")
    behind = serving("worker-1", storing="the log of events is damaged")
    unready = serving("worker-2", ready=False, kafka="away")
    hung = serving("query-1", live=False, process="no heartbeat for 40 s")
    nobody = Address("127.0.0.1", free_port())

    found = ask_processes([ready, behind, unready, hung, stranger, nobody])

    assert [(each.name, each.state, each.problem) for each in found] == [
        ("collector-1", "ready", None),
        ("worker-1", "ready", "storing: the log of events is damaged"),
        ("worker-2", "unready", "kafka: away"),
        ("query-1", "unready", "process: no heartbeat for 40 s"),
        (None, "away", "what answers is no process of Tidemark"),
        (None, "away", "no answer: Connection refused"),
    ]
    assert [each.address for each in found[:2]] == [str(ready), str(behind)]


def test_a_name_is_asked_by_its_addresses() -> None:
    port = serving("keeper").port

    [found] = ask_processes([Address("localhost", port)])
    [unknown] = ask_processes([Address("nobody.invalid", port)])

    assert (found.address, found.name, found.state) == (f"127.0.0.1:{port}", "keeper", "ready")
    assert (unknown.state, unknown.problem) == ("away", "the name is not known")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("worker.example:4101", Address("worker.example", 4101)),
        ("[2001:db8::1]:4100", Address("2001:db8::1", 4100)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["worker.example", ":4100", "h:0", "h:70000", "h:port", ""])
def test_anything_else_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="no HOST:PORT"):
        parse_address(text)


def at_another(name: str, state: str = "ready") -> RemoteProcess:
    return RemoteProcess("a:1", name, "ready" if state == "ready" else "unready")


def test_it_is_down_when_no_process_of_a_kind_is_ready_on_any_machine() -> None:
    here = ProcessStatus("collector-1", ProcessState.RESTARTING, None, 3, "", "x.log")

    assert is_down([here], [at_another("query-1")])
    assert not is_down([here], [at_another("query-1"), at_another("collector-1")])
    assert is_down([], [at_another("query-1", "unready"), at_another("query-2", "unready")])
    assert not is_down([], [at_another("query-1", "unready"), at_another("query-2")])
    assert is_down([], [RemoteProcess("a:1", None, "away", "no answer")])
