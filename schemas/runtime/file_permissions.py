"""File permissions of the data folder: owner only, or owner and group."""

import os
import stat
from pathlib import Path

from schemas.runtime.settings import Settings

UMASKS = {"owner": 0o077, "group": 0o007}
"""Umask by `data_access`."""


def set_umask(settings: Settings) -> int:
    """Set the umask of this process; returns the previous one."""
    return os.umask(UMASKS[settings.data_access])


def is_exposed(path: Path, settings: Settings) -> bool:
    """Whether a file has more permissions than the settings allow."""
    return bool(stat.S_IMODE(path.stat().st_mode) & UMASKS[settings.data_access])


def restrict(path: Path, settings: Settings) -> None:
    """Remove permissions that the settings do not allow; skips files of other users."""
    status = path.stat()
    if status.st_uid == os.getuid() and is_exposed(path, settings):
        path.chmod(stat.S_IMODE(status.st_mode) & ~UMASKS[settings.data_access])
