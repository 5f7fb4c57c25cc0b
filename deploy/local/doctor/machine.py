"""Checks of the machine: disk space, permissions, clock."""

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
"""2025-01-01; an earlier clock was never set."""


def written_folders(settings: Settings) -> list[Path]:
    """The existing local folders that Tidemark writes to."""
    lake = settings.lake_url.removeprefix("file://")
    folders = [settings.data] if "://" in lake else [settings.data, Path(lake)]
    return [folder for folder in folders if folder.is_dir()]


def find_full_disks(scope: CheckContext) -> Iterator[Finding]:
    """One finding per disk with less free space than a start requires."""
    seen: set[int] = set()
    for folder in written_folders(scope.settings):
        if (device := folder.stat().st_dev) in seen:
            continue
        seen.add(device)
        free, floor = free_mb(folder), floor_mb(scope.settings)
        if free is not None and free < floor:
            yield _disk_finding(folder, f"{free} MB free, minimum {floor} MB")
        inodes = os.statvfs(folder)
        if inodes.f_files and inodes.f_favail < FREE_INODES:
            yield _disk_finding(folder, f"only {inodes.f_favail} inodes free")


def _disk_finding(folder: Path, problem: str) -> Finding:
    return Finding(
        subject=str(folder),
        problem=f"the disk is nearly full: {problem}",
        meaning="Collectors reject requests (503) before the disk is full, so no acknowledged "
        "event "
        "is lost. `tidemark up` refuses to start.",
        remedy=f"free some space (du -sh {folder}/*), or set {PREFIX}DATA_DIR to another disk",
    )


def find_open_permissions(scope: CheckContext) -> Iterator[Finding]:
    """Files that other users can read, and files that Tidemark cannot write."""
    data = scope.settings.data
    if not data.is_dir():
        return
    if is_exposed(data, scope.settings):
        yield Finding(
            subject=str(data),
            problem=f"other users can read the data folder (mode {_mode(data):04o})",
            meaning="Every user of this machine can read the registry, stored rows and messages.",
            remedy="tidemark doctor --repair",
        )
    for secret in sorted((*data.glob("demo.*"), *(data / "visitors").glob("*"))):
        if secret.is_file() and is_exposed(secret, scope.settings):
            yield Finding(
                subject=str(secret),
                problem=f"other users can read a secret (mode {_mode(secret):04o})",
                meaning="With it another user can query as its owner, or link a day's visitor "
                "ids to visitors.",
                remedy="tidemark doctor --repair",
            )
    # Names with a leading dot are temporary files; see the check for leftovers.
    files = (path for path in sorted(data.iterdir()) if not path.name.startswith("."))
    for path in (data, *files):
        if path.stat().st_uid == os.getuid() and not os.access(path, os.W_OK):
            yield _unwritable(path, "is read-only")
        elif path.stat().st_uid != os.getuid():
            yield _unwritable(path, f"belongs to the user {path.stat().st_uid}")


def _unwritable(path: Path, problem: str) -> Finding:
    return Finding(
        subject=str(path),
        problem=f"{problem} (this command runs as the user {os.getuid()})",
        meaning="Tidemark cannot write there.",
        remedy=f"chown -R {os.getuid()} {path} && chmod -R u+rwX {path}",
    )


def restrict_permissions(scope: CheckContext, finding: Finding) -> str | None:
    """Remove permissions of other users; the owner stays."""
    path, before = Path(finding.subject), _mode(Path(finding.subject))
    restrict(path, scope.settings)
    return None if _mode(path) == before else f"{path}: mode is now {_mode(path):04o}"


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def find_wrong_clock(scope: CheckContext) -> Iterator[Finding]:
    """A clock that was never set, or that is behind the time of written files."""
    now = now_ms()
    if now < MIN_CLOCK_MS:
        yield _clock_finding(f"it shows {format_instant(now)}, which is in the past")
        return
    newest = _newest_written(scope.settings)
    if newest is None:
        raise CheckSkipped("there are no files to compare with")
    path, written = newest
    if written > now + CLOCK_SLACK_MS:
        yield _clock_finding(
            f"it shows {format_instant(now)}, but {path} was written at {format_instant(written)}"
        )


def _clock_finding(problem: str) -> Finding:
    return Finding(
        subject="clock",
        problem=problem,
        meaning="Rows get a wrong time of receipt and a wrong day, and queries about today miss "
        "rows that were received under the other time.",
        remedy="timedatectl set-ntp true (or set the clock by hand), then restart Tidemark",
    )


def _newest_written(settings: Settings) -> tuple[Path, int] | None:
    """The newest of the files that running processes write continuously."""
    data = settings.data
    lake = Path(settings.lake_url.removeprefix("file://"))
    written = [
        (path, path.stat().st_mtime_ns // 1_000_000)
        for pattern in ("run/*.json", "logs/*.log", "processes.json")
        for path in data.glob(pattern)
    ]
    logs = list(lake.glob("*/_delta_log")) if "://" not in str(lake) else []
    written += [(path, path.stat().st_mtime_ns // 1_000_000) for path in logs]
    return max(written, key=lambda entry: entry[1], default=None)


DISK_CHECK = Check(FULL_DISK, "every disk that is written to has free space", find_full_disks)
PERMISSIONS_CHECK = Check(
    "permissions",
    "the data folder is writable for Tidemark and private",
    find_open_permissions,
    restrict_permissions,
)
CLOCK_CHECK = Check("clock", "the clock is not behind the written files", find_wrong_clock)
