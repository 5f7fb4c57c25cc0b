"""Checks of the machine: room on the disk, who may read the data folder, and the clock."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from deploy.local.disk_space import floor_mb, free_mb
from deploy.local.doctor.check import FULL_DISK, Check, CheckContext, CheckSkipped
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.environment import PREFIX
from schemas.runtime.file_permissions import is_exposed, restrict
from schemas.runtime.finding import Finding
from schemas.runtime.settings import Settings

FREE_INODES = 10_000
CLOCK_SLACK_MS = 300_000
MIN_CLOCK_MS = 1_735_689_600_000
"""2025-01-01: a clock that says less was never set."""


def written_folders(settings: Settings) -> list[Path]:
    """The local folders that are written to, those that exist."""
    lake = settings.lake_url.removeprefix("file://")
    found = [settings.data] if "://" in lake else [settings.data, Path(lake)]
    return [folder for folder in found if folder.is_dir()]


def find_full_disks(scope: CheckContext) -> Iterator[Finding]:
    """One finding for each disk with less room than a start asks for."""
    seen: set[int] = set()
    for folder in written_folders(scope.settings):
        if (device := folder.stat().st_dev) in seen:
            continue
        seen.add(device)
        free, floor = free_mb(folder), floor_mb(scope.settings)
        if free is not None and free < floor:
            yield _disk_finding(folder, f"{free} MB are left, less than {floor}")
        inodes = os.statvfs(folder)
        if inodes.f_files and inodes.f_favail < FREE_INODES:
            yield _disk_finding(folder, f"room for {inodes.f_favail} more files is left")


def _disk_finding(folder: Path, problem: str) -> Finding:
    return Finding(
        subject=str(folder),
        problem=f"the disk is nearly full: {problem}",
        meaning="Collectors refuse what is sent (503) before the disk is full; nothing that was "
        "acknowledged is lost. A start is refused.",
        remedy=f"make room (du -sh {folder}/*), or set {PREFIX}DATA_DIR to another disk",
    )


def find_open_permissions(scope: CheckContext) -> Iterator[Finding]:
    """What others on this machine may read or change, and what is not ours."""
    data = scope.settings.data
    if not data.is_dir():
        return
    if is_exposed(data, scope.settings):
        yield Finding(
            subject=str(data),
            problem=f"others may look into the data folder (mode {_mode(data):04o})",
            meaning="Every user of this machine can read the registry, stored rows and messages.",
            remedy="tidemark doctor --repair",
        )
    for secret in sorted((*data.glob("demo.*"), *(data / "visitors").glob("*"))):
        if secret.is_file() and is_exposed(secret, scope.settings):
            yield Finding(
                subject=str(secret),
                problem=f"others may read a secret (mode {_mode(secret):04o})",
                meaning="Who reads it can ask in its owner's name or undo pseudonyms of a day.",
                remedy="tidemark doctor --repair",
            )
    # What begins with a dot is being replaced at this moment, or is a leftover: another check's.
    kept = (path for path in sorted(data.iterdir()) if not path.name.startswith("."))
    for path in (data, *kept):
        if path.stat().st_uid == os.getuid() and not os.access(path, os.W_OK):
            yield _unwritable(path, "is read-only")
        elif path.stat().st_uid != os.getuid():
            yield _unwritable(path, f"belongs to the user {path.stat().st_uid}")


def _unwritable(path: Path, problem: str) -> Finding:
    return Finding(
        subject=str(path),
        problem=f"{problem} (this command runs as the user {os.getuid()})",
        meaning="What Tidemark must write there cannot be written.",
        remedy=f"chown -R {os.getuid()} {path} && chmod -R u+rwX {path}",
    )


def restrict_permissions(scope: CheckContext, finding: Finding) -> str | None:
    """Take away what others may; never changes an owner."""
    path, before = Path(finding.subject), _mode(Path(finding.subject))
    restrict(path, scope.settings)
    return None if _mode(path) == before else f"{path}: mode is {_mode(path):04o} now"


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def find_wrong_clock(scope: CheckContext) -> Iterator[Finding]:
    """A clock that was never set, or that has been behind what it told before."""
    now = now_ms()
    if now < MIN_CLOCK_MS:
        yield _clock_finding(f"it says {format_instant(now)}, which cannot be")
        return
    newest = _newest_written(scope.settings)
    if newest is None:
        raise CheckSkipped("nothing has been written that could be compared with")
    path, written = newest
    if written > now + CLOCK_SLACK_MS:
        yield _clock_finding(
            f"it says {format_instant(now)}, and {path} was written at {format_instant(written)}"
        )


def _clock_finding(problem: str) -> Finding:
    return Finding(
        subject="clock",
        problem=problem,
        meaning="Rows get a wrong time of receipt and a wrong day, and questions about today miss "
        "what was received under the other time.",
        remedy="timedatectl set-ntp true (or set the clock by hand), then restart Tidemark",
    )


def _newest_written(settings: Settings) -> tuple[Path, int] | None:
    """The newest of the files that a running system writes all the time."""
    data = settings.data
    lake = Path(settings.lake_url.removeprefix("file://"))
    written = [
        (path, path.stat().st_mtime_ns // 1_000_000)
        for pattern in ("run/*.json", "logs/*.log", "processes.json")
        for path in data.glob(pattern)
    ]
    logs = list(lake.glob("*/_delta_log")) if "://" not in str(lake) else []
    written += [(path, path.stat().st_mtime_ns // 1_000_000) for path in logs]
    return max(written, key=lambda one: one[1], default=None)


DISK_CHECK = Check(FULL_DISK, "every disk that is written to has room", find_full_disks)
PERMISSIONS_CHECK = Check(
    "permissions",
    "the data folder is ours, and closed to others",
    find_open_permissions,
    restrict_permissions,
)
CLOCK_CHECK = Check("clock", "the clock is not behind what was written", find_wrong_clock)
