"""Health of a process by its heartbeat, which the loop that does the work writes.

A process that hangs is not live, although a thread of it still responds. One that has not written
a heartbeat yet is starting: live, and not ready.
"""

import os
import time
from pathlib import Path

from schemas.http.health import Health
from schemas.runtime.heartbeat import STALE_AFTER_MS, heartbeat_path, read_heartbeat


def heartbeat_health(run: Path, name: str) -> Health:
    """Health by the heartbeat of this process; on a full disk its file is only touched."""
    own = read_heartbeat(heartbeat_path(run, name))
    if own is None or own.pid != os.getpid():
        return _health(name, live=True, problem="starting")
    if (seconds := _age_seconds(run, name)) * 1000 > STALE_AFTER_MS:
        return _health(name, live=False, problem=f"no heartbeat for {seconds:.0f} s")
    if own.state != "ready":
        return _health(name, live=True, problem=own.reason or own.unready_reason or own.state)
    return _health(name, live=True, problem=None, reason=own.reason)


def _age_seconds(run: Path, name: str) -> float:
    try:
        return max(0.0, time.time() - heartbeat_path(run, name).stat().st_mtime)
    except OSError:
        return 0.0  # being replaced


def _health(name: str, live: bool, problem: str | None, reason: str = "") -> Health:
    ready = problem is None
    return Health(
        status="unready" if not ready else "degraded" if reason else "ok",
        service=name,
        live=live,
        ready=ready,
        checks={"process": problem or "ok", "storing": reason or "ok"},
    )
