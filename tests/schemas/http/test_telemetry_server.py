"""Metrics and health checks of a process over HTTP."""

import socket
import time

import pytest
from msgspec import structs
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families

from deploy.local.processes.readiness import answers_ready
from schemas.http import telemetry_server
from schemas.http.health import Health
from schemas.http.telemetry_server import TelemetryServer
from tests.http_client import call

WORKS = Health("ok", "worker-1", True, True, {})


class Process:
    """Whatever health the test sets."""

    health = WORKS

    def __call__(self) -> Health:
        return self.health


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
def url(process: Process) -> str:
    registry = CollectorRegistry()
    Counter("loaves", "Loaves baked", registry=registry).inc(3)
    return f"http://127.0.0.1:{TelemetryServer(process, registry).start('127.0.0.1', 0)}"


def statuses(url: str) -> list[int]:
    paths = ("livez", "health/live", "readyz", "health/ready", "health")
    return [call("GET", f"{url}/{path}").status for path in paths]


def test_metrics_are_in_the_format_of_prometheus(url: str) -> None:
    reply = call("GET", f"{url}/metrics")

    parsed = text_string_to_metric_families(reply.body.decode())
    families = {family.name: family for family in parsed}
    assert reply.headers["content-type"].startswith("text/plain")
    assert families["loaves"].samples[0].value == 3


def test_the_checks_follow_the_health_of_the_process(url: str, process: Process) -> None:
    assert statuses(url) == [200] * 5
    process.health = structs.replace(WORKS, ready=False)
    assert statuses(url) == [200, 200, 503, 503, 503]
    process.health = structs.replace(WORKS, live=False, ready=False)
    assert statuses(url) == [503] * 5


def test_another_path_is_not_found(url: str) -> None:
    assert call("GET", f"{url}/").status == 404


def test_a_port_in_use_ends_nothing(
    url: str, process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    port = int(url.rpartition(":")[2])

    assert TelemetryServer(process, CollectorRegistry()).start("127.0.0.1", port) is None
    assert "no metrics" in caplog.text


def test_a_port_in_use_is_served_as_soon_as_it_is_free(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry_server, "RETRY_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert TelemetryServer(process, CollectorRegistry()).start("127.0.0.1", port) is None

    until = time.monotonic() + 60
    while not answers_ready("127.0.0.1", port):
        assert time.monotonic() < until, "the port was never opened"
        time.sleep(0.05)
