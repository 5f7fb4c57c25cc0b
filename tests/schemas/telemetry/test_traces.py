"""Traces are off by default, cost no import then, and need their packages when they are on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.runtime.environment import InvalidSetting, load_settings
from schemas.runtime.settings import Settings
from schemas.telemetry.traces import MISSING_PACKAGES, start_traces
from tests.installation import ROOT

SERVICES = (
    ("ingest", "--name", "c"),
    ("query", "--name", "q"),
    ("stream", "worker", "--name", "w"),
    ("stream", "backfill", "--name", "b"),
    ("stream", "keeper", "--name", "k"),
)


def test_they_are_off_by_default() -> None:
    assert start_traces(Settings(), "collector", "collector-1") is None


def test_no_service_imports_the_library_while_they_are_off() -> None:
    program = (
        "import sys, ingest.__main__, query.__main__, stream.__main__, stream.worker\n"
        "import stream.maintenance.scheduler, stream.backfill_standby\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        (sys.executable, "-c", program), cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


@pytest.fixture
def without_packages(tmp_path: Path) -> dict[str, str]:
    """The environment of a process for which the packages are not installed."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['opentelemetry'] = None\n")
    return {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "TIDEMARK_TRACES": "http://127.0.0.1:9",
        "TIDEMARK_DATA_DIR": str(tmp_path / "data"),
    }


@pytest.mark.parametrize("service", SERVICES, ids=" ".join)
def test_a_process_without_the_packages_says_what_to_install(
    service: tuple[str, ...], without_packages: dict[str, str]
) -> None:
    done = subprocess.run(
        (sys.executable, "-m", *service), env=without_packages, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 1
    assert MISSING_PACKAGES in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_up_without_the_packages_says_so_too(without_packages: dict[str, str]) -> None:
    done = subprocess.run(
        (sys.executable, "-m", "deploy.cli", "up"), env=without_packages, capture_output=True,
        text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 1
    assert MISSING_PACKAGES in done.stderr


@pytest.mark.parametrize("value", ["127.0.0.1:4318", "grpc://host:4317", "http://u:pw@host:4318"])
def test_the_address_of_the_receiver_is_checked(value: str) -> None:
    with pytest.raises(
        InvalidSetting, match=r"TIDEMARK_TRACES=.* must be http://host:port"
    ) as raised:
        load_settings({"TIDEMARK_TRACES": value})

    assert "pw" not in str(raised.value)


@pytest.mark.parametrize("value", ["-0.1", "1.1", "all"])
def test_the_share_is_a_number_from_0_to_1(value: str) -> None:
    with pytest.raises(InvalidSetting, match="at least 0, at most 1"):
        load_settings({"TIDEMARK_TRACES_SHARE": value})
