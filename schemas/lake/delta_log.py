"""Integrity check of a local Delta log: missing, empty or torn entries and checkpoints.

The deltalake library opens a table with an empty log entry and ignores the entry, so the log is
checked before every open. Our commits have a checksum of their actions in `commitInfo`; entries
without one are of older versions or other writers and are accepted.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.lake.data_files import file_problem as damage_of

LOG_FOLDER = "_delta_log"
LAST_CHECKPOINT_FILE = "_last_checkpoint"
COPIES_FOLDER = "_log_copies"
"""Folder beside the log: copies of its last two checkpoints with their checksums, and of its
entries since the older one; the maintenance process writes them."""
CONTENT_KEY = "tidemark"
"""Key in `commitInfo` of the checksum over the actions."""

MOST_NAMED = 3
"""Damaged entries that a message names."""
_ATTEMPTS = 3


class DamagedEntry(Struct, frozen=True):
    """One missing or damaged log entry or checkpoint."""

    version: int
    problem: str
    """The problem, as the end of a sentence."""
    checkpoint: str = ""
    """File name, if it is a checkpoint."""

    @property
    def name(self) -> str:
        """File name."""
        return self.checkpoint or entry_name(self.version)


class _Add(Struct):
    path: str
    size: int
    stats: str | None = None


class _Remove(Struct):
    path: str


class _Transaction(Struct, rename="camel"):
    app_id: str
    version: int


class _LastCheckpoint(Struct, rename="camel"):
    version: int
    size_in_bytes: int | None = None


class _CommitInfo(Struct):
    tidemark: str | None = None


class _LogAction(Struct, rename="camel"):
    add: _Add | None = None
    remove: _Remove | None = None
    txn: _Transaction | None = None
    commit_info: _CommitInfo | None = None


_decoder = msgspec.json.Decoder(_LogAction)


def commit_content(
    adds: Iterable[tuple[str, int, str | None]], removes: Iterable[str], txns: Mapping[str, int]
) -> str:
    """Counts of a commit's actions, and a checksum over them."""
    lines: list[list[list[object]]] = [
        [["add", *add] for add in sorted(adds)],
        [["remove", path] for path in sorted(removes)],
        [["txn", name, version] for name, version in sorted(txns.items())],
    ]
    digest = hashlib.sha256(msgspec.json.encode(lines)).hexdigest()
    adds_, removes_, txns_ = (len(actions) for actions in lines)
    return f"adds={adds_} removes={removes_} txns={txns_} sha256={digest}"


def entry_problem(entry: bytes) -> str | None:
    """Problem of an entry's bytes."""
    if not entry.strip():
        return "is empty"
    try:
        lines = [_decoder.decode(line) for line in entry.splitlines()]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "is torn"
    contents = [line.commit_info.tidemark for line in lines if line.commit_info]
    if any(content is not None and content != _content_of(lines) for content in contents):
        return "does not hold the actions that it was committed with"
    return None


def _content_of(lines: Sequence[_LogAction]) -> str:
    return commit_content(
        [(line.add.path, line.add.size, line.add.stats) for line in lines if line.add],
        [line.remove.path for line in lines if line.remove],
        {line.txn.app_id: line.txn.version for line in lines if line.txn},
    )


def is_intact(entry: bytes) -> bool:
    """Whether an entry's bytes have no problem."""
    return entry_problem(entry) is None


def damaged_entries(log: Path) -> Sequence[DamagedEntry]:
    """Missing, empty, torn or incomplete entries since the last checkpoint, and a damaged one.

    Missing newest entries are found through their copies. Damage is confirmed by a second read,
    because entries may be cleaned up at the same time.
    """
    damaged: Sequence[DamagedEntry] = ()
    for _ in range(_ATTEMPTS):
        if not (damaged := _find_damaged(log)):
            break
    return damaged


def named(broken: Sequence[DamagedEntry]) -> str:
    """The first entries with their problems, and the number of the others."""
    listed = ", ".join(f"{entry.name} {entry.problem}" for entry in broken[:MOST_NAMED])
    more = len(broken) - MOST_NAMED
    return f"{listed} and {more:,} more" if more > 0 else listed


def log_entries(log: Path) -> dict[int, Path]:
    """Existing entries by version."""
    paths = sorted(log.glob("[0-9]*[0-9].json"))
    return {int(path.stem): path for path in paths if path.stem.isdecimal()}


def last_checkpoint(log: Path) -> int:
    """Version of the newest checkpoint; -1 when there is none."""
    return max(checkpoints(log), default=-1)


def checkpoints(log: Path) -> list[int]:
    """Versions of all checkpoints."""
    names = (path.name.split(".")[0] for path in log.glob("[0-9]*.checkpoint*.parquet"))
    return sorted(int(name) for name in names if name.isdecimal())


def checkpoint_name(version: int) -> str:
    """File name of a version's checkpoint; ours have one part."""
    return f"{version:020}.checkpoint.parquet"


def checkpoint_checksum_path(log: Path, version: int) -> Path:
    """File with the checksum of a checkpoint."""
    return log.parent / COPIES_FOLDER / f"{version:020}.checkpoint.sha256"


def checkpoint_checksum(log: Path, version: int) -> str | None:
    """The recorded checksum of a checkpoint."""
    try:
        return checkpoint_checksum_path(log, version).read_text().strip() or None
    except OSError:
        return None


def damaged_checkpoint(log: Path) -> DamagedEntry | None:
    """The checkpoint from which the table would be opened, if it is missing or damaged."""
    try:
        hint = msgspec.json.decode((log / LAST_CHECKPOINT_FILE).read_bytes(), type=_LastCheckpoint)
    except (OSError, msgspec.DecodeError):
        hint = None  # then the newest existing one is used
    newest, copies = last_checkpoint(log), log.parent / COPIES_FOLDER
    copied = log_entries(copies) if hint and hint.version > newest else {}
    if hint and copied and hint.version > max(*copied, *log_entries(log), -1):
        wrong = f"names version {hint.version}, which there never was"
        return DamagedEntry(newest, wrong, LAST_CHECKPOINT_FILE)
    expected = max(hint.version if hint else -1, last_checkpoint(copies))
    if expected > newest:
        return DamagedEntry(expected, "is missing", checkpoint_name(expected))
    file = log / checkpoint_name(newest)
    if newest < 0 or not file.exists():
        return None  # none, or a multi-part one of another writer
    checksum = checkpoint_checksum(log, newest)
    noted = hint.size_in_bytes if hint and hint.version == newest else None
    problem = damage_of(file, None if checksum else noted, checksum)
    return DamagedEntry(newest, problem, file.name) if problem else None


def entry_name(version: int) -> str:
    """File name of a version's entry."""
    return f"{version:020}.json"


def _find_damaged(log: Path) -> list[DamagedEntry]:
    copies = log.parent / COPIES_FOLDER
    entries, copied = log_entries(log), log_entries(copies)
    checkpoint = damaged_checkpoint(log)
    if not entries and not copied and not checkpoint:
        return []
    damaged = [checkpoint] if checkpoint else []
    since, newest = max(last_checkpoint(log), last_checkpoint(copies)), max(*entries, *copied, -1)
    for version in range(since + 1, newest + 1):
        try:
            problem = entry_problem((log / entry_name(version)).read_bytes())
        except FileNotFoundError:
            problem = "is missing"
        if problem:
            damaged.append(DamagedEntry(version, problem))
    return damaged
