"""Readiness checks: heartbeat, /health/ready, Kafka response."""

import http.client
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from deploy.local.kafka.broker import broker_answers
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import STALE_AFTER_MS, Heartbeat, read_heartbeats
from schemas.runtime.service_urls import local_address
from schemas.telemetry.unserved_metrics import UnservedMetrics, read_unserved

ReadyCheck = Callable[[int], bool]


def heartbeat_ready(run: Path, name: str) -> ReadyCheck:
    """Ready when the heartbeat of that name has this pid, is fresh and says ready.

    Several services share a port, where the kernel would choose which one is asked.
    """
    return lambda pid: any(
        heartbeat.process == name
        and heartbeat.pid == pid
        and is_fresh(heartbeat)
        and heartbeat.state == "ready"
        for heartbeat in read_heartbeats(run)
    )


def broker_ready(port: int) -> ReadyCheck:
    """Ready when the broker responds to a client."""
    return lambda _pid: broker_answers(port)


def is_fresh(heartbeat: Heartbeat, at_ms: int | None = None) -> bool:
    """Whether a heartbeat was recent at the given time (default: now)."""
    return (now_ms() if at_ms is None else at_ms) - heartbeat.at_ms < STALE_AFTER_MS


def warnings(heartbeats: Iterable[Heartbeat], at_ms: int) -> Sequence[tuple[str, str]]:
    """Process and warning of each fresh heartbeat that has one."""
    return [
        (heartbeat.process, heartbeat.warning)
        for heartbeat in heartbeats
        if heartbeat.warning and is_fresh(heartbeat, at_ms)
    ]


def unserved_metrics(
    run: Path, heartbeats: Iterable[Heartbeat], at_ms: int
) -> Sequence[UnservedMetrics]:
    """The running processes whose port of metrics is not open."""
    running = {(beat.process, beat.pid) for beat in heartbeats if is_fresh(beat, at_ms)}
    return [each for each in read_unserved(run) if (each.process, each.pid) in running]


def answers_ready(host: str, port: int) -> bool:
    """Whether GET /health/ready returns 200 within a second."""
    connection = http.client.HTTPConnection(local_address(host), port, timeout=1)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
