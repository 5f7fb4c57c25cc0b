"""Accidents of disks: files deleted, flipped, truncated or emptied, and a full disk."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def flip(file: Path) -> None:
    """64 bytes in the middle."""
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 64] = bytes(byte ^ 0xFF for byte in data[middle : middle + 64])
    file.write_bytes(data)


ACCIDENTS: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "flipped": flip,
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-100]),
    "emptied": lambda file: file.write_bytes(b""),
}

accidents = pytest.mark.parametrize("accident", ACCIDENTS)


@contextmanager
def full_disk() -> Iterator[None]:
    """Every byte that is written to a file is refused by the kernel, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
