"""Whether a process serves: by its pulse, by its health route, by an answer of the broker."""

import http.client
from collections.abc import Callable
from pathlib import Path

from deploy.local.kafka.broker import broker_answers
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import STALE_AFTER_MS, Heartbeat, read_heartbeats
from schemas.runtime.settings import Settings

ReadyCheck = Callable[[int], bool]


def heartbeat_ready(run: Path, name: str) -> ReadyCheck:
    """The pulse of that name is of this very process, fresh, and says ready."""
    return lambda pid: any(
        pulse.process == name and pulse.pid == pid and is_fresh(pulse) and pulse.state == "ready"
        for pulse in read_heartbeats(run)
    )


def http_ready(host: str, port: int, run: Path, name: str) -> ReadyCheck:
    """GET /health/ready answers 200, and the process is one of those that share the port."""
    beating = heartbeat_ready(run, name)
    return lambda pid: beating(pid) and answers_ready(host, port)


def broker_ready(port: int) -> ReadyCheck:
    """The broker answers a client."""
    return lambda _pid: broker_answers(port)


def is_fresh(pulse: Heartbeat, at_ms: int | None = None) -> bool:
    """Whether the process wrote it lately, as of now or of another instant."""
    return (now_ms() if at_ms is None else at_ms) - pulse.at_ms < STALE_AFTER_MS


def answers_ready(host: str, port: int) -> bool:
    """Whether GET /health/ready answers 200 within a second."""
    connection = http.client.HTTPConnection(local_address(host), port, timeout=1)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def local_address(host: str) -> str:
    """An address of this machine for a service that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104


def collector_url(settings: Settings) -> str:
    """Where this machine reaches the collector."""
    return service_url(settings.host, settings.collect_port)


def query_service_url(settings: Settings) -> str:
    """Where this machine reaches the query service."""
    return service_url(settings.host, settings.query_port)


def service_url(host: str, port: int) -> str:
    """The URL of a service that listens there."""
    known = local_address(host)
    return f"http://[{known}]:{port}" if ":" in known else f"http://{known}:{port}"
