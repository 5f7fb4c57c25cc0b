"""The health check of the container asks the process that runs beside it."""

import os
import subprocess
import sys

from schemas.http.health import Health
from schemas.http.telemetry_server import TelemetryServer
from tests.installation import free_port

WORKS = Health("ok", "worker-1", True, True, {})
HANGS = Health("degraded", "worker-1", False, False, {})


def check(port: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deploy.container.health"],
        env={**os.environ, "TIDEMARK_METRICS_PORT": str(port)},
        capture_output=True,
        text=True,
        check=False,
    )


def serve(health: Health) -> int:
    port = TelemetryServer(lambda: health).start("127.0.0.1", 0)
    assert port
    return port


def test_a_process_that_works_is_healthy() -> None:
    assert check(serve(WORKS)).returncode == 0


def test_a_process_that_hangs_or_is_gone_is_not() -> None:
    port = free_port()

    hung, gone = check(serve(HANGS)), check(port)

    assert (hung.returncode, gone.returncode) == (1, 1)
    assert "503" in hung.stderr
    assert f"does not answer on port {port}" in gone.stderr


def test_without_a_port_it_says_what_to_do() -> None:
    assert "set another port" in check(0).stderr
