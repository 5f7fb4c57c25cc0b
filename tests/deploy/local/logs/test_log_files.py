"""Why a process ended is read from its log, in both formats of lines."""

from pathlib import Path

import pytest

from deploy.local.logs.log_files import exit_reason

TEXT = "2026-11-23 10:00:00,000 CRITICAL stream.worker: worker exits error=Stuck reason=no progress"
JSON = '{"reason":"no progress","level":"CRITICAL","message":"worker exits"}'


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (f"{TEXT}\nlater\n", "no progress"),
        (f'{JSON}\n{{"level":"INFO","message":"later"}}\n', "no progress"),
        ('{"level":"INFO","message":"stopped"}\n', "stopped"),
        ("worker: TIDEMARK_KAFKA is not an address\n", "worker: TIDEMARK_KAFKA is not an address"),
        ("{no object\n", "{no object"),
        ("", ""),
    ],
)
def test_the_reason_of_an_exit(tmp_path: Path, log: str, reason: str) -> None:
    path = tmp_path / "worker.log"
    path.write_text(log)

    assert exit_reason(path) == reason
