"""What happens to files on bad disks."""

from collections.abc import Callable
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
