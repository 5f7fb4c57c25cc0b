"""Stored files are synced to the disk, in an order that survives a power cut."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from schemas.lake.delta_log import LOG_FOLDER
from stream.storage.object_store import LocalStorage, ObjectStorage, storage_at
from stream.storage.scratch_directory import LOCK_FILE
from tests.s3.server import S3Server

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
