"""Landlock: restricts writes of a thread to one folder (Linux 5.13 and later).

DuckDB has no setting for read-only folders. The restriction of a thread is permanent and inherited
by the threads that it starts; other threads of the process are not affected.
"""

import ctypes
import os
import platform
from pathlib import Path

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


def version() -> int:
    """The Landlock version of the kernel; 0 without it, or without permission to use it."""
    if platform.system() != "Linux":
        return 0
    return max(0, int(_libc().syscall(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)))


def restrict_writes_to(folder: Path) -> bool:
    """Restrict writes of this thread and its children to a folder; whether the kernel does."""
    known = version()
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
