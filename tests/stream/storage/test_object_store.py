"""Files of a table in a local folder or an object store, and scratch directories on their way."""

import fcntl
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_log import LOG_FOLDER
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.merge_plan import live_data_files
from stream.maintenance.rewrite import rewrite_files
from stream.maintenance.scheduler import MaintenanceScheduler
from stream.storage.delta_commit import LakeTable
from stream.storage.object_store import (
    LOCK_FILE,
    LocalStorage,
    ObjectStorage,
    ScratchDirectory,
    storage_at,
)
from stream.writing.batch_writer import BatchWriter
from tests.installation import ROOT
from tests.s3.server import S3Server
from tests.stream.builders import a_message, named, rows, settings

SCRIPT = """
import sys
from schemas.kinds import CUSTOM_EVENT
from stream.writing.batch_writer import BatchWriter
from stream.enrich.rules.lookups import Lookups
from tests.stream.builders import a_message, named, settings
from pathlib import Path

writer = BatchWriter(settings(Path(sys.argv[1])), CUSTOM_EVENT, Lookups())
print("ready", flush=True)
writer.write([a_message(0, named("a"))])
"""


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were synced, in order."""
    names: list[str] = []
    monkeypatch.setattr("stream.storage.object_store.fsync", lambda path: names.append(path.name))
    return names


def test_every_new_log_entry_is_synced(tmp_path: Path, synced: list[str]) -> None:
    log = tmp_path / LOG_FOLDER
    log.mkdir()
    for version in range(4):
        (log / f"{version:020}.json").touch()

    assert LocalStorage(tmp_path).sync_log(1) == 3
    assert synced == [f"{2:020}.json", f"{3:020}.json", LOG_FOLDER]


def test_entries_after_cleaned_up_ones_are_synced(tmp_path: Path, synced: list[str]) -> None:
    log = tmp_path / LOG_FOLDER
    log.mkdir()
    for version in (100, 101):
        (log / f"{version:020}.json").touch()
    (log / f"{100:020}.checkpoint.parquet").touch()

    assert LocalStorage(tmp_path).sync_log(7) == 101
    assert synced == [f"{100:020}.json", f"{101:020}.json", LOG_FOLDER]


def test_a_url_is_an_object_store_and_a_path_is_local(tmp_path: Path) -> None:
    assert isinstance(storage_at(str(tmp_path)), LocalStorage)
    assert isinstance(storage_at(f"file://{tmp_path}"), LocalStorage)
    with pytest.raises(OSError, match="nowhere"):
        ObjectStorage("nowhere://bucket/lake")


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    with S3Server(tmp_path / "s3") as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield ObjectStorage(f"{server.url}/events")


def test_files_of_an_object_store_are_written_whole_read_and_removed(
    bucket: ObjectStorage,
) -> None:
    finished = bucket.scratch_directory() / "large"
    finished.write_bytes(bytes(11_000_000))

    bucket.put("day=2026-11-21/a.parquet", pa.py_buffer(b"PAR1"))
    assert bucket.adopt(finished, "day=2026-11-21/b.parquet") == 11_000_000
    assert not finished.exists()
    with bucket.filesystem().open_input_file("day=2026-11-21/a.parquet") as file:
        assert file.read() == b"PAR1"
    with bucket.local_copy("day=2026-11-21/b.parquet") as copy:
        assert copy.stat().st_size == 11_000_000
    for _ in range(2):
        bucket.remove("day=2026-11-21/a.parquet")
    with pytest.raises(FileNotFoundError), bucket.local_copy("day=2026-11-21/a.parquet"):
        pass


def test_local_copies_from_an_object_store_leave_no_temporary_files(
    bucket: ObjectStorage,
) -> None:
    bucket.put("a.parquet", pa.py_buffer(b"data"))

    with bucket.local_copy("a.parquet") as file:
        assert file.read_bytes() == b"data"
    with pytest.raises(ZeroDivisionError), bucket.local_copy("a.parquet"):
        raise ZeroDivisionError
    with pytest.raises(FileNotFoundError), bucket.local_copy("gone.parquet"):
        pass

    assert [left.name for left in bucket.scratch_directory().iterdir()] == [LOCK_FILE]
    (bucket.scratch_directory().parent / "left-by-the-dead").mkdir()
    bucket.clear_scratch()
    assert list(bucket.scratch_directory().parent.iterdir()) == [bucket.scratch_directory()]


def test_the_data_file_is_synced_before_the_log_entry(tmp_path: Path) -> None:
    watcher = (
        "import os, sys\n"
        "real = os.fsync\n"
        "def told(number):\n"
        "    print('fsync', os.readlink(f'/proc/self/fd/{number}'), flush=True)\n"
        "    real(number)\n"
        "os.fsync = told\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", watcher + SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )

    after = done.stdout.split("ready\n")[1]
    paths = [line.split(f"{tmp_path}/lake/")[1] for line in after.splitlines()]
    assert [re.sub(r"[0-9a-f]{32}", "#", path) for path in paths] == [
        f"{table}{rest}"
        for table in ("ledger", "events")
        for rest in (
            "",
            "/day=2026-11-21/#-#.parquet",
            "/day=2026-11-21",
            f"/_delta_log/{0:020}.json",
            f"/_delta_log/{1:020}.json",
            "/_delta_log",
        )
    ]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_kernel_links_the_log_entry_between_both_syncs(tmp_path: Path) -> None:
    trace, lake = tmp_path / "trace", tmp_path / "data" / "lake"
    strace = ("strace", "-f", "-y", "-qq", "-o", trace, "-e", "trace=fsync,linkat")
    subprocess.run([*strace, sys.executable, "-c", SCRIPT, lake.parent], check=True)

    calls = re.findall(rf"(fsync|linkat)\(.*{lake}/events/(\S+?)[\">].* = 0", trace.read_text())
    assert [(call, re.sub(r"[0-9a-f]{32}", "#", path)) for call, path in calls] == [
        ("linkat", f"_delta_log/{0:020}.json"),
        ("fsync", "day=2026-11-21/#-#.parquet"),
        ("fsync", "day=2026-11-21"),
        ("linkat", f"_delta_log/{1:020}.json"),
        ("fsync", f"_delta_log/{0:020}.json"),
        ("fsync", f"_delta_log/{1:020}.json"),
        ("fsync", "_delta_log"),
    ]


KILLED = """
import os, signal, sys
from pathlib import Path
from stream.storage.object_store import ScratchDirectory

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
