"""Atomic and durable file writes: write, rename, fsync."""

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """The old or the new content, and nothing half written is left when there is no room."""
    waiting = path.with_name(f".{path.stem}.{os.getpid()}")
    try:
        waiting.write_bytes(content)
        waiting.replace(path)
    except OSError:
        waiting.unlink(missing_ok=True)
        raise


def fsync(path: Path) -> None:
    """Have the disk keep a file's bytes, or a folder's names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
