"""Health checks of a stream process follow its heartbeat."""

import os
from pathlib import Path

import pytest

from schemas.http.health import heartbeat_health
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import REFUSED, Heartbeat, write_heartbeat

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
