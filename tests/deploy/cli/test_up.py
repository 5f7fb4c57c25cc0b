"""`tidemark status --watch` repeats the status until it is interrupted."""

import subprocess
import sys
from pathlib import Path

from schemas.runtime.environment import to_environment
from schemas.runtime.settings import Settings

STATUS = (sys.executable, "-m", "deploy.cli", "status", "--watch")


def test_the_status_is_shown_again(tmp_path: Path) -> None:
    with subprocess.Popen(
        STATUS,
        stdout=subprocess.PIPE,
        text=True,
        env=to_environment(Settings(data_dir=str(tmp_path))),
    ) as watching:
        assert watching.stdout is not None
        shown = 0
        while shown < 2:
            line = watching.stdout.readline()
            assert line, "the command ended"
            shown += "no process is running" in line
        watching.kill()


def test_watch_and_check_exclude_each_other(tmp_path: Path) -> None:
    ended = subprocess.run(
        (*STATUS, "--check"),
        capture_output=True,
        text=True,
        env=to_environment(Settings(data_dir=str(tmp_path))),
        timeout=60,
        check=False,
    )

    assert ended.returncode == 2
    assert "choose one" in ended.stderr
