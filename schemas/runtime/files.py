"""Atomic and durable file writes: write, rename, fsync."""

import errno
import os
import stat
from glob import glob
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file by rename: readers see the old or the new content."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file; OSError for anything else.

    A pipe under its name would block the reader for ever, a device would fill memory.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()


def matching_files(root: Path, pattern: str) -> list[Path]:
    """What matches a pattern, sorted, without the folders that another process deletes meanwhile.

    `Path.glob` raises then, before Python 3.13.
    """
    names = glob(pattern, root_dir=root, recursive=True, include_hidden=True)  # noqa: PTH207
    return sorted(root / name for name in names)


def fsync(path: Path) -> None:
    """Flush a file's bytes, or a folder's names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
