"""Locked-down, read-only DuckDB connection; limits of a pool.

The order of the settings matters: the spill folder must be set before external access is disabled,
and `lock_configuration` comes last.
"""

import logging
import os
import sys
import warnings
from functools import cache
from pathlib import Path
from threading import get_native_id

import duckdb
from msgspec import Struct

from query.engine.landlock import restrict_writes_to

log = logging.getLogger(__name__)


class PoolLimits(Struct, frozen=True):
    """Memory, threads and concurrency of one pool."""

    memory_mb: int
    threads: int
    concurrency: int = 4
    """Queries that run at the same time."""
    max_queued: int = 64
    """Queries that may wait; more are rejected."""
    nice: int = 0
    """Nice value of its threads (on Linux, where threads have one)."""
    rows_bytes: int = 64 * 2**20
    """Bytes that the rows of one query may take in Python."""


def restrict_thread(nice: int, spill: Path) -> None:
    """Set the nice value of this thread and its children, and restrict their writes to `spill`.

    DuckDB itself may write wherever it may read; where the kernel has no Landlock, only the check
    that a statement is a SELECT prevents writes, and one log line says so.
    """
    if nice and sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, get_native_id(), nice)
    if not restrict_writes_to(spill):
        _warn_unrestricted()


@cache
def _warn_unrestricted() -> None:
    """Once for each process, not once for each of its threads."""
    log.warning(
        "no Landlock: the kernel does not keep query threads from writing to the lake;"
        " run the service as a user with read-only access to it"
    )


def connect_hardened(lake: str, spill: Path, limits: PoolLimits) -> duckdb.DuckDBPyConnection:
    """A locked-down, read-only DuckDB connection that can read the lake only."""
    warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)  # known
    connection = duckdb.connect(":memory:")
    for setting, value in {
        "temp_directory": str(spill),
        "allowed_directories": [lake],
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "memory_limit": f"{limits.memory_mb}MB",
        "max_temp_directory_size": f"{4 * limits.memory_mb}MB",
        "threads": limits.threads,
        "max_expression_depth": 250,
        "parquet_metadata_cache": True,  # data files are immutable
        "preserve_insertion_order": False,  # every query has a total order
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
