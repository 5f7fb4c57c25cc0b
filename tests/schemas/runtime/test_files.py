"""A file is replaced atomically, also on a full disk, and only regular ones are read."""

import os
from pathlib import Path

import pytest

from schemas.runtime.files import read_regular, write_atomically
from schemas.runtime.heartbeat import Heartbeat, read_heartbeats, write_heartbeat
from tests.accidents import full_disk


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
