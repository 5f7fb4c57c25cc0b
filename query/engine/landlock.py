"""Landlock: threads that the kernel lets write beneath one folder only (Linux 5.13 and later).

DuckDB knows folders that may be read and written, and none that may only be read. A thread that
gave up writing keeps it up, and so do the threads that it starts; the others of the process go on.
"""

import ctypes
import os
import platform
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of the system calls, alike on all machines that Tidemark runs on."""
CREATE_RULESET_VERSION = 1
PATH_BENEATH = 1
NO_NEW_PRIVILEGES = 38
"""Of `prctl`: what the kernel asks of a thread before it may restrict itself."""

WRITE_ACCESS = (1 << 1) | sum(1 << bit for bit in range(4, 13))
"""To write into a file, and to make or remove files, folders, links, sockets and devices."""
RENAMES, TRUNCATES = 1 << 13, 1 << 14
"""Known from the second and the third version on."""


class Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr` in its first form."""

    _fields_ = (("handled", ctypes.c_uint64),)


class PathBeneath(ctypes.Structure):
    """`struct landlock_path_beneath_attr`."""

    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """The kernel's version of Landlock; 0 where there is none, or where it may not be used."""
    if platform.system() != "Linux":
        return 0
    return max(0, int(_libc().syscall(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)))


def restrict_writes_to(folder: Path) -> bool:
    """Let this thread, and those that it starts, write nowhere else; whether the kernel does so."""
    known = version()
    if not known:
        return False
    handled = WRITE_ACCESS | (RENAMES if known >= 2 else 0) | (TRUNCATES if known >= 3 else 0)
    libc = _libc()
    made = Ruleset(handled)
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(made), ctypes.sizeof(made), 0)
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
