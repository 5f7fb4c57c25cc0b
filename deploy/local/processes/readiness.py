"""Whether a process serves: by its pulse, by its health route, by an answer of the broker."""

import http.client
from collections.abc import Callable
from pathlib import Path

from deploy.local.kafka.broker import answers
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import STALE_MS, Pulse, read_pulses
from schemas.runtime.settings import Settings

Ready = Callable[[int], bool]


def pulse_says(run: Path, name: str) -> Ready:
    """The pulse of that name is of this very process, fresh, and says ready."""
    return lambda pid: any(
        pulse.process == name and pulse.pid == pid and is_live(pulse) and pulse.state == "ready"
        for pulse in read_pulses(run)
    )


def http_says(host: str, port: int, run: Path, name: str) -> Ready:
    """GET /health/ready answers 200, and the process is one of those that share the port."""
    beating = pulse_says(run, name)
    return lambda pid: beating(pid) and healthy(host, port)


def broker_says(port: int) -> Ready:
    """The broker answers a client."""
    return lambda _pid: answers(port)


def is_live(pulse: Pulse, at_ms: int | None = None) -> bool:
    """Whether the process wrote it lately, as of now or of another instant."""
    return (now_ms() if at_ms is None else at_ms) - pulse.at_ms < STALE_MS


def healthy(host: str, port: int) -> bool:
    """Whether GET /health/ready answers 200 within a second."""
    connection = http.client.HTTPConnection(reachable(host), port, timeout=1)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def reachable(host: str) -> str:
    """An address of this machine for a service that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104


def collect_address(settings: Settings) -> str:
    """Where this machine reaches the collector."""
    return address(settings.host, settings.collect_port)


def query_address(settings: Settings) -> str:
    """Where this machine reaches the query service."""
    return address(settings.host, settings.query_port)


def address(host: str, port: int) -> str:
    """The URL of a service that listens there."""
    known = reachable(host)
    return f"http://[{known}]:{port}" if ":" in known else f"http://{known}:{port}"
