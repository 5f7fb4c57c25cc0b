"""A file is replaced atomically, also on a full disk, and only regular ones are read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.runtime.files import matching_files, read_regular, write_atomically
from schemas.runtime.heartbeat import Heartbeat, read_heartbeats, write_heartbeat
from tests.accidents import full_disk
from tests.installation import eventually


def test_a_full_disk_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    write_atomically(file, b"old")

    with full_disk(), pytest.raises(OSError, match="too large"):
        write_atomically(file, b"new")

    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    """A pipe would block, and a device has no end."""
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.write_bytes(b"content")
    os.mkfifo(pipe)
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "link").symlink_to(file)

    assert read_regular(file) == read_regular(tmp_path / "link") == b"content"
    for name in ("pipe", "zero", "."):
        with pytest.raises(OSError, match=r"not a regular file|directory"):
            read_regular(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "nothing")


def test_a_pipe_among_heartbeats_holds_nothing_up(tmp_path: Path) -> None:
    write_heartbeat(tmp_path, Heartbeat("keeper", 7, 1_000))
    os.mkfifo(tmp_path / "evil.json")

    assert [beat.process for beat in read_heartbeats(tmp_path)] == ["keeper"]


def test_files_of_folders_that_another_process_deletes_are_listed_without_error(
    tmp_path: Path,
) -> None:
    (tmp_path / "kept.1").mkdir()
    (tmp_path / "kept.1" / "a.spool").touch()
    script = (
        "import os, sys\n"
        "while True:\n"
        "    for i in range(50): os.mkdir(f'{sys.argv[1]}/gone.{i}')\n"
        "    for i in range(50): os.rmdir(f'{sys.argv[1]}/gone.{i}')\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)]) as other:
        try:
            eventually((tmp_path / "gone.49").exists)
            listings = [matching_files(tmp_path, "*.*/*.spool") for _ in range(300)]
        finally:
            other.kill()

    assert listings == [[tmp_path / "kept.1" / "a.spool"]] * 300
