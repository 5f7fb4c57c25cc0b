"""A file is replaced atomically, also on a full disk."""

from pathlib import Path

import pytest

from schemas.runtime.files import write_atomically
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
