"""Data files: names that hold a SHA-256 checksum, and verification of a file against its name.

The name survives checkpoints, copies and manual restores. Files of older versions have no checksum
in their name; only their size and magic bytes can be verified.
"""

import hashlib
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

CHECKSUM_LENGTH = 32
"""Hex digits of the SHA-256: 128 bits detect every accident."""

_NAME = re.compile(r"[0-9a-f]{32}-([0-9a-f]{32})\.parquet$")
_MAGIC = b"PAR1"
_MIN_BYTES = 12
_READ_BYTES = 1_048_576


def data_file_path(day: str, checksum: str) -> str:
    """A new path for a data file with this checksum, relative to the table's root."""
    return f"day={day}/{uuid.uuid4().hex}-{checksum}.parquet"


def checksum(data: bytes | memoryview) -> str:
    """Checksum of bytes in memory."""
    return hashlib.sha256(data).hexdigest()[:CHECKSUM_LENGTH]


def file_checksum(file: Path, pace: Callable[[int], None] | None = None) -> str:
    """Checksum of a file; `pace` is called with each number of bytes read, to limit the rate."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(_READ_BYTES):
            digest.update(block)
            if pace:
                pace(len(block))
    return digest.hexdigest()[:CHECKSUM_LENGTH]


def named_checksum(path: str) -> str | None:
    """Checksum in the name; None for files of older versions or other writers."""
    match = _NAME.search(path)
    return match[1] if match else None


def file_problem(
    file: Path,
    size: int | None,
    recorded_checksum: str | None = None,
    pace: Callable[[int], None] | None = None,
) -> str | None:
    """Problem of a data file, as the end of a sentence; reads the whole file.

    `recorded_checksum` is for files whose name has none.
    """
    if problem := frame_problem(file, size):
        return problem
    expected = named_checksum(file.name) or recorded_checksum
    try:
        if expected and file_checksum(file, pace) != expected:
            return "has a wrong checksum"
    except OSError as error:
        return _unreadable(error)
    return None


def frame_problem(file: Path, size: int | None) -> str | None:
    """Like `file_problem`, reading only size and magic bytes."""
    try:
        with file.open("rb") as stream:
            actual_size = stream.seek(0, 2)
            if size is not None and actual_size != size:
                return f"has {actual_size} bytes, not {size}"
            if actual_size < _MIN_BYTES or _magic_bytes(stream) != (_MAGIC, _MAGIC):
                return "is not a Parquet file"
    except OSError as error:
        return _unreadable(error)
    return None


def _unreadable(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "is missing"
    return f"cannot be read ({error.strerror or error})"


def _magic_bytes(stream: BinaryIO) -> tuple[bytes, bytes]:
    stream.seek(0)
    first = stream.read(len(_MAGIC))
    stream.seek(-len(_MAGIC), 2)
    return first, stream.read(len(_MAGIC))
