"""The name of a unit's instance chooses the process."""

import os
import subprocess

import pytest

from tests.deploy.deployment_files import DEPLOY


def run(name: str) -> subprocess.CompletedProcess[str]:
    """With a setting that is refused, so that a process says who it is and ends."""
    return subprocess.run(
        [DEPLOY / "systemd" / "run", name],
        env={**os.environ, "TIDEMARK_METRICS_PORT": "x"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("instance", "process"),
    [
        ("collector-1", "collector"),
        ("worker-2", "worker"),
        ("backfill", "backfill"),
        ("keeper", "keeper"),
        ("query-1", "query"),
    ],
)
def test_an_instance_runs_its_process(instance: str, process: str) -> None:
    ended = run(instance)

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"{process}: TIDEMARK_METRICS_PORT")


@pytest.mark.parametrize("instance", ["", "worker", "broker-1", "../worker-1"])
def test_another_instance_is_a_configuration_error(instance: str) -> None:
    ended = run(instance)

    assert ended.returncode == 78
    assert "use collector-N, worker-N, query-N, backfill, keeper or importer" in ended.stderr
