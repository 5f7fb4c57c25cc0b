"""Data files: names that hold a SHA-256 checksum, and verification of a file against its name.

A name survives what a log forgets: checkpoints, copies, a table put together again by hand. Files
of older versions have no checksum in their name; of those, only size and frame can be checked.
"""

import hashlib
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

CHECKSUM_LENGTH = 32
"""Of a SHA-256: 128 bits tell every accident."""

_NAME = re.compile(r"[0-9a-f]{32}-([0-9a-f]{32})\.parquet$")
_MAGIC = b"PAR1"
_MIN_BYTES = 12
_READ_BYTES = 1_048_576


def data_file_path(day: str, checksum: str) -> str:
    """A new name for a data file with these bytes, relative to the table's root."""
    return f"day={day}/{uuid.uuid4().hex}-{checksum}.parquet"


def checksum(data: bytes | memoryview) -> str:
    """Of bytes in memory."""
    return hashlib.sha256(data).hexdigest()[:CHECKSUM_LENGTH]


def file_checksum(file: Path, pace: Callable[[int], None] | None = None) -> str:
    """Of a file's bytes; `pace` is told of each stretch that was read, and may take its time."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(_READ_BYTES):
            digest.update(block)
            if pace:
                pace(len(block))
    return digest.hexdigest()[:CHECKSUM_LENGTH]


def named_checksum(path: str) -> str | None:
    """What the name says; None for a file of an older version, or of another program."""
    match = _NAME.search(path)
    return match[1] if match else None


def file_problem(
    file: Path,
    size: int | None,
    recorded_checksum: str | None = None,
    pace: Callable[[int], None] | None = None,
) -> str | None:
    """What is wrong with a data file, as the end of a sentence; reads all of it.

    `known` is a checksum that was noted elsewhere, for a file whose name holds none.
    """
    if problem := frame_problem(file, size):
        return problem
    expected = named_checksum(file.name) or recorded_checksum
    try:
        if expected and file_checksum(file, pace) != expected:
            return "holds other bytes than were written"
    except OSError as error:
        return _unreadable(error)
    return None


def frame_problem(file: Path, size: int | None) -> str | None:
    """The same without reading more than its ends."""
    try:
        with file.open("rb") as stream:
            actual_size = stream.seek(0, 2)
            if size is not None and actual_size != size:
                return f"has {actual_size} bytes, not {size}"
            if actual_size < _MIN_BYTES or _magic_bytes(stream) != (_MAGIC, _MAGIC):
                return "is no Parquet file"
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
