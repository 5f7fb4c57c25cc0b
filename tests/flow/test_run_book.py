"""The commands of deploy/RUNBOOK.md, as an operator would paste them, on a running installation."""

import logging
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.runtime.log_setup import FieldFormatter, JsonFormatter
from tests.flow.tenant import Tenant
from tests.http_client import call
from tests.installation import ROOT

RUN_BOOK = (ROOT / "deploy" / "RUNBOOK.md").read_text()
COMMANDS = sorted({line.strip() for line in re.findall(r"^ {4}\S.*$", RUN_BOOK, re.MULTILINE)})
TIDEMARK = [line for line in COMMANDS if line.startswith("tidemark ")]
CHANGES = [line for line in TIDEMARK if line.startswith("tidemark restart ")]
"""They restart a process of the stack that other tests use; tests/deploy/local tests them."""
RESTORES = [line for line in TIDEMARK if "TARGET" in line or line == "tidemark up"]
"""They are for a machine that is lost; `test_backup.py` runs them."""
FILES = ("tail ", "df ", "du ")
"""What is said about the files of the data folder by the usual commands."""
REPORTS = {"tidemark doctor": (0, 1)}
"""Exit codes other than 0 that report a finding about the machine, such as a disk that is full."""


def test_every_command_is_of_a_known_kind() -> None:
    kinds = ("tidemark ", "curl -s http://", "grep ", *FILES)

    assert [line for line in COMMANDS if not line.startswith(kinds)] == []
    assert len(TIDEMARK) > len(CHANGES) > 0


@pytest.mark.parametrize("line", [line for line in TIDEMARK if line not in (*CHANGES, *RESTORES)])
def test_a_command_of_tidemark_runs(tenant: Tenant, line: str) -> None:
    arguments = shlex.split(line.replace("web_…", tenant.website.id))[1:]
    key = {"TIDEMARK_API_KEY": tenant.key}

    done = subprocess.run(
        (sys.executable, "-m", "deploy.cli", *arguments),
        cwd=ROOT,
        env={**tenant.stack.environment, **key},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode in REPORTS.get(line, (0,)), done.stderr
    assert "Error" not in done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("curl ")])
def test_a_request_is_answered(tenant: Tenant, line: str) -> None:
    settings = tenant.stack.settings
    ports = {"4000": settings.collect_port, "4001": settings.query_port}
    host, _, path = line.split()[-1].removeprefix("http://").partition("/")
    port = ports.get(host.partition(":")[2], settings.metrics_port)

    assert b'"checks"' in call("GET", f"http://127.0.0.1:{port}/{path}").body


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("grep ")])
def test_a_text_that_is_searched_for_is_logged(line: str) -> None:
    logger, _, text = shlex.split(line)[1].rpartition(".*")
    sources = (ROOT / package for package in ("schemas", "ingest", "stream", "query"))

    assert any(
        f'"{text}"' in source.read_text()
        for folder in sources
        for source in folder.rglob(f"*{logger.replace('.', '/').rpartition('/')[2]}.py")
    )


@pytest.mark.parametrize(
    "formatter", [FieldFormatter("%(levelname)s %(name)s: %(message)s"), JsonFormatter()]
)
def test_only_a_request_of_ours_that_failed_is_found_in_both_formats(
    formatter: logging.Formatter, tmp_path: Path
) -> None:
    [command] = [line for line in COMMANDS if line.startswith("grep ") and "middleware" in line]

    def logged(name: str, message: str) -> str:
        return formatter.format(logging.LogRecord(name, logging.ERROR, "", 1, message, None, None))

    ours = logged("schemas.http.middleware", "request failed")
    other = logged("aiokafka.consumer.group_coordinator", "Heartbeat send request failed: …")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "worker-1.log").write_text(f"{other}\n{ours}\n")

    done = subprocess.run(
        command,
        shell=True,
        env={**os.environ, "TIDEMARK_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == f"{ours}\n"


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith(FILES)])
def test_a_command_about_files_runs_in_a_shell(tenant: Tenant, line: str) -> None:
    done = subprocess.run(
        line.replace("NAME", "query-1"),
        shell=True,
        env=tenant.stack.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
