"""`tidemark restore` as an operator calls it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.cli.command_result import Run
from tests.query.lake import Lake, an_event


@pytest.fixture
def target(run: Run, ask: Callable[..., Any], tmp_path: Path) -> str:
    """A backup of one event and one organization."""
    target = str(tmp_path / "target")
    ask("organizations", "create", "--name", "Acme")
    Lake(tmp_path / "lake").holds(an_event())
    assert run("backup", target, TIDEMARK_COLLECT_PORT="4100").code == 0
    return target


def test_the_next_steps_are_printed(run: Run, target: str, tmp_path: Path) -> None:
    folder = tmp_path / "restored"

    done = run("restore", target, "--into", str(folder))

    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert "    TIDEMARK_COLLECT_PORT=4100" in lines
    assert "    with a new Kafka it is lost; workers begin a new epoch by themselves" in lines
    assert lines[-1] == f"    TIDEMARK_DATA_DIR={folder} TIDEMARK_LAKE='' tidemark up"
    assert (folder / "registry.db").stat().st_mode & 0o077 == 0


def test_another_kafka_needs_the_epoch_that_is_printed(
    run: Run, target: str, tmp_path: Path
) -> None:
    done = run("restore", target, "--into", str(tmp_path / "new"), TIDEMARK_KAFKA="kafka:9092")

    assert (
        "    with a new Kafka it is lost; start with TIDEMARK_INGEST_EPOCH=2, and keep that setting"
        in done.out.splitlines()
    )


def test_a_second_restore_into_the_folder_is_refused(run: Run, target: str, tmp_path: Path) -> None:
    run("restore", target, "--into", str(tmp_path / "new"))

    done = run("restore", target, "--into", str(tmp_path / "new"))

    assert done.code == 1
    assert done.err.startswith(f"tidemark: {tmp_path}/new/lake is not empty (it has ")


def test_a_backup_that_there_is_not_is_named(run: Run, target: str, tmp_path: Path) -> None:
    into = ("--into", str(tmp_path / "new"))

    none = run("restore", str(tmp_path / "nowhere"), *into)
    earlier = run("restore", target, *into, "--backup", "2020-01-01")
    unknown = run("restore", target, *into, "--backup", "yesterday")

    assert none.err == f"tidemark: {tmp_path}/nowhere has no backup\n"
    assert earlier.err == f"tidemark: {target} has no backup until 2020-01-01\n"
    assert unknown.code == 2
    assert unknown.err == (
        "tidemark: --backup: 'yesterday' is neither the id of a backup nor an ISO 8601 time\n"
    )
    assert not (tmp_path / "new").exists()
