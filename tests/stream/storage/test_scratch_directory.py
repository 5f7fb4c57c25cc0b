"""Scratch directories of running writers stay, those of killed ones are removed."""

import fcntl
import gc
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.merge_plan import live_data_files
from stream.maintenance.rewrite import rewrite_files
from stream.maintenance.scheduler import MaintenanceScheduler
from stream.storage.delta_commit import LakeTable
from stream.storage.scratch_directory import LOCK_FILE, ScratchDirectory
from stream.writing.batch_writer import BatchWriter
from tests.installation import ROOT
from tests.stream.builders import a_message, named, rows, settings

KILLED = """
import os, signal, sys
from pathlib import Path
from stream.storage.scratch_directory import ScratchDirectory

held = ScratchDirectory(Path(sys.argv[1]))
(held.folder() / "half").touch()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_directories_of_killed_processes_are_removed_and_locked_ones_stay(tmp_path: Path) -> None:
    died = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, check=False)
    writing = ScratchDirectory(tmp_path)
    (writing.folder() / "half").touch()
    (tmp_path / "of-older-versions").touch()
    assert (died.returncode, len(list(tmp_path.iterdir()))) == (-signal.SIGKILL, 3)

    ScratchDirectory(tmp_path).clear()

    assert list(tmp_path.iterdir()) == [writing.folder()]
    assert (writing.folder() / "half").exists()


def test_each_writer_has_its_own_directory_that_is_removed_with_it(tmp_path: Path) -> None:
    first, second = ScratchDirectory(tmp_path), ScratchDirectory(tmp_path)
    assert first.folder() == first.folder() != second.folder()

    del first
    gc.collect()

    assert list(tmp_path.iterdir()) == [second.folder()]


def test_directories_of_another_user_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()

    def refused(*_: object) -> int:
        raise PermissionError(theirs)

    monkeypatch.setattr(os, "open", refused)

    ScratchDirectory(tmp_path).clear()

    assert list(tmp_path.iterdir()) == [theirs]


def test_nothing_is_cleared_where_nothing_was_written(tmp_path: Path) -> None:
    ScratchDirectory(tmp_path / "none").clear()

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", ["before the lock is opened", "before it is held"])
def test_a_directory_removed_before_it_is_locked_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    made, flock = tempfile.mkdtemp, fcntl.flock
    cleared: list[Path] = []

    def clear() -> None:
        if not cleared:
            cleared.extend(tmp_path.iterdir())
            ScratchDirectory(tmp_path).clear()

    def made_and_cleared(dir: Path) -> str:
        folder = made(dir=dir)
        if moment == "before the lock is opened":
            clear()
        return folder

    def cleared_and_held(number: int, how: int) -> None:
        clear()
        flock(number, how)

    monkeypatch.setattr(tempfile, "mkdtemp", made_and_cleared)
    monkeypatch.setattr(fcntl, "flock", cleared_and_held)

    writing = ScratchDirectory(tmp_path)
    folder = writing.folder()

    assert list(tmp_path.iterdir()) == [folder]
    assert len(cleared) == 1
    assert folder not in cleared


def fill(folder: Path) -> LakeTable:
    """Two data files of one event each."""
    writer = BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())
    for offset in range(2):
        writer.write([a_message(offset, named("a"))])
    return LakeTable(settings(folder), EVENTS)


def test_a_starting_keeper_does_not_disturb_a_rewrite(tmp_path: Path) -> None:
    table = fill(tmp_path)
    keepers: list[MaintenanceScheduler] = []

    def meanwhile(actual: pa.Table) -> pa.Table:
        keepers.append(MaintenanceScheduler(settings(tmp_path)))
        keepers[-1].run_cycle()
        return actual

    rewrite_files(table, list(live_data_files(table.handle, EVENTS)), meanwhile)

    assert len(keepers) == 2
    assert rows(settings(tmp_path), EVENTS, "name") == [("a",), ("a",)]


def test_a_rewrite_that_fails_leaves_no_file(tmp_path: Path) -> None:
    table = fill(tmp_path)
    before = sorted((tmp_path / "lake" / "events").rglob("*.parquet"))
    config: list[pa.Table] = []

    def full(actual: pa.Table) -> pa.Table:
        config.append(actual)
        if len(config) == 2:
            raise OSError("no space left")
        return actual

    with pytest.raises(OSError, match="no space left"):
        rewrite_files(table, list(live_data_files(table.handle, EVENTS)), full)

    assert sorted((tmp_path / "lake" / "events").rglob("*.parquet")) == before
    assert [file.name for file in table.store.scratch_directory().iterdir()] == [LOCK_FILE]
