"""Walls: what one pool may use, and an instance that can read the lake and nothing else.

The order of the settings matters: the spill folder can only be named before external access ends,
and the lock comes last.
"""

import os
import sys
from pathlib import Path
from threading import get_native_id

import duckdb
from msgspec import Struct

from query.engine.landlock import restrict_writes_to


class PoolLimits(Struct, frozen=True):
    """What one pool may use."""

    memory_mb: int
    threads: int
    concurrency: int = 4
    """Questions that run at the same time."""
    max_queued: int = 64
    """Questions that may wait for their turn; more are refused."""
    nice: int = 0
    """How much its threads give way to others (on Linux, where threads can)."""
    rows_bytes: int = 64 * 2**20
    """What the rows of one question may take while they are fetched and shaped."""


def restrict_thread(nice: int, spill: Path) -> None:
    """Make this thread, and those that it starts, give way to others and write into `spill` only.

    DuckDB alone would write wherever it may read; where the kernel has no Landlock, nothing but
    the kind of the statement stands before that.
    """
    if nice and sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, get_native_id(), nice)
    restrict_writes_to(spill)


def connect_hardened(lake: str, spill: Path, bounds: PoolLimits) -> duckdb.DuckDBPyConnection:
    """An instance that can read the lake, and nothing else, and cannot be told otherwise."""
    connection = duckdb.connect(":memory:")
    for setting, value in {
        "temp_directory": str(spill),
        "allowed_directories": [lake],
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "memory_limit": f"{bounds.memory_mb}MB",
        "max_temp_directory_size": f"{4 * bounds.memory_mb}MB",
        "threads": bounds.threads,
        "max_expression_depth": 250,
        "parquet_metadata_cache": True,  # parts never change
        "preserve_insertion_order": False,  # every question has a total order of its own
        "TimeZone": "UTC",
        "lock_configuration": True,
    }.items():
        connection.execute(f"SET {setting} = {_literal(value)}")
    return connection


def _literal(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_literal(each) for each in value)}]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)
