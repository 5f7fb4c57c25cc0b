"""File permissions of the data folder: owner only, or owner and group."""

import os
import stat
from pathlib import Path

from schemas.runtime.settings import Settings

UMASKS = {"owner": 0o077, "group": 0o007}
"""By `data_access`: what is taken away from the mode of all that is made."""


def set_umask(settings: Settings) -> int:
    """From now on this process makes files for its owner (and the group); the mask of before."""
    return os.umask(UMASKS[settings.data_access])


def is_exposed(path: Path, settings: Settings) -> bool:
    """Whether more may reach it than the settings say."""
    return bool(stat.S_IMODE(path.stat().st_mode) & UMASKS[settings.data_access])


def restrict(path: Path, settings: Settings) -> None:
    """Take away what others may; what belongs to somebody else is left as it is."""
    status = path.stat()
    if status.st_uid == os.getuid() and is_exposed(path, settings):
        path.chmod(stat.S_IMODE(status.st_mode) & ~UMASKS[settings.data_access])
