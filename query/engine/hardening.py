"""Locked-down, read-only DuckDB connection; limits of a pool; writes of its threads restricted.

The order of the settings matters: the spill folder must be set before external access is disabled,
and `lock_configuration` comes last. DuckDB has no setting for read-only folders, so Landlock (Linux
5.13 and later) restricts the writes of each thread to one folder. That is permanent and inherited
by the threads that it starts; other threads of the process are not affected.
"""

import ctypes
import logging
import os
import platform
import sys
import warnings
from functools import cache
from pathlib import Path
from threading import get_native_id

import duckdb
from msgspec import Struct

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System call numbers, the same on all supported architectures."""
CREATE_RULESET_VERSION = 1
PATH_BENEATH = 1
NO_NEW_PRIVILEGES = 38
"""Option of `prctl` that the kernel requires before a thread restricts itself."""

WRITE_ACCESS = (1 << 1) | sum(1 << bit for bit in range(4, 13))
"""Writing to files; creating and removing files, folders, links, sockets and devices."""
RENAMES, TRUNCATES = 1 << 13, 1 << 14
"""Access rights since version 2 and version 3."""


class Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr` in its first form."""

    _fields_ = (("handled", ctypes.c_uint64),)


class PathBeneath(ctypes.Structure):
    """`struct landlock_path_beneath_attr`."""

    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def landlock_version() -> int:
    """The Landlock version of the kernel; 0 without it, or without permission to use it."""
    if platform.system() != "Linux":
        return 0
    return max(0, int(_libc().syscall(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)))


def restrict_writes_to(folder: Path) -> bool:
    """Restrict writes of this thread and its children to a folder; whether the kernel does."""
    known = landlock_version()
    if not known:
        return False
    handled = WRITE_ACCESS | (RENAMES if known >= 2 else 0) | (TRUNCATES if known >= 3 else 0)
    libc = _libc()
    ruleset_attr = Ruleset(handled)
    ruleset = libc.syscall(
        CREATE_RULESET, ctypes.byref(ruleset_attr), ctypes.sizeof(ruleset_attr), 0
    )
    opened = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = PathBeneath(handled, opened)
        libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
        libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(libc.syscall(RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(opened)
        os.close(ruleset)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


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
