"""Committed offsets: next offsets of topic partitions, read from the newest Delta log entries.

A collector polls 20 times a second while a request waits for storage, so a poll that finds nothing
is only one attempt to open the next log entry. In an object store it is one request, five times a
second.

A table keeps each number under a Delta application id, as the version of its last transaction.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from schemas.lake.delta_log import LAST_CHECKPOINT_FILE, LOG_FOLDER, entry_name
from schemas.lake.object_store import ObjectFolder, is_object_store
from schemas.lake.table_location import local_folder, table_url
from schemas.tables import Table

SNAPSHOT_MAX_AGE_SECONDS = 0.2
"""Maximum age of the table version that a query reads.

Who reports a commit as done waits this long after it: then every query that starts sees it.
"""

FOLLOW_TIMEOUT_SECONDS = 30.0
"""Log entries stay for at least a minute; a follower that paused this long restarts."""

NO_VERSION = -1
"""Version of a table that does not exist."""


class _Transaction(Struct, rename="camel"):
    app_id: str
    version: int


class _LogAction(Struct):
    txn: _Transaction | None = None


class _LastCheckpoint(Struct):
    version: int


_decoder = msgspec.json.Decoder(_LogAction)
_checkpoint_decoder = msgspec.json.Decoder(_LastCheckpoint)


def app_id(epoch: int, topic: str, partition: int) -> str:
    """Delta application id of the next offset of a topic partition."""
    return f"{epoch}/{topic}/{partition}"


def epoch_app_id(topic: str) -> str:
    """Delta application id of the newest epoch of a topic."""
    return f"topic/{topic}"


def identity_app_id(topic: str, identity: str) -> str:
    """Delta application id of the epoch that a topic id has."""
    return f"topic/{topic}/{identity}"


def cluster_app_id(topic: str, cluster: str) -> str:
    """Delta application id that records a Kafka cluster as a source of the table."""
    return f"cluster/{topic}/{cluster}"


def log_folder(lake: str, table: Table) -> Path | None:
    """Folder of a table's log; None when it is not on a local disk."""
    folder = local_folder(table_url(lake, table))
    return folder / LOG_FOLDER if folder else None


class LogSource(Protocol):
    """The files of one table's log."""

    def read(self, name: str) -> bytes:
        """The file; FileNotFoundError when there is none."""

    def names(self, *, after: str = "") -> Sequence[str]:
        """The names of entries and checkpoints behind `after`; none when there is no log yet."""


class LocalLog:
    """The log of a table on a local disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()

    def names(self, *, after: str = "") -> Sequence[str]:
        return [path.name for path in self._folder.glob("[0-9]*") if path.name > after]


def log_source(lake: str, table: Table) -> LogSource:
    """The log of a table, wherever it is."""
    url = f"{table_url(lake, table)}/{LOG_FOLDER}"
    if is_object_store(url):
        return ObjectFolder(url)
    return LocalLog(Path(url.removeprefix("file://")))


def newest_names(log: LogSource) -> Sequence[str]:
    """The names from the last checkpoint on: a log of days takes many requests to list."""
    checkpoint = last_checkpoint_version(log)
    newest = names_from(log, checkpoint) if checkpoint is not None else ()
    return newest or log.names()


def names_from(log: LogSource, version: int) -> Sequence[str]:
    """The names of the entry and checkpoint of a version, and of later ones."""
    return log.names(after=f"{version:020}")


def last_checkpoint_version(log: LogSource) -> int | None:
    """The version of the last checkpoint, as Delta Lake notes it; None when it does not."""
    try:
        return _checkpoint_decoder.decode(log.read(LAST_CHECKPOINT_FILE)).version
    except (FileNotFoundError, msgspec.DecodeError):
        return None


class LogFollower:
    """Follows the log of one table; not thread-safe."""

    def __init__(self, log: LogSource) -> None:
        self._log = log
        self._polled_at = float("-inf")
        self._offsets: dict[str, int] = {}
        self.version = NO_VERSION
        """Version of the newest entry that was read."""

    def polled_within(self, seconds: float) -> bool:
        """Whether the last poll was within so many seconds."""
        return time.monotonic() - self._polled_at < seconds

    def poll(self) -> bool:
        """Read new entries; False after a pause that was too long: earlier offsets are void."""
        followed = self.polled_within(FOLLOW_TIMEOUT_SECONDS)
        if not followed:
            self._restart()
        while (offsets := self._read_entry(self.version + 1)) is not None:
            self._offsets |= offsets
            self.version += 1
        self._polled_at = time.monotonic()
        return followed

    def next_offset(self, name: str) -> int | None:
        """The next offset by the entries that were followed; None when none has it."""
        return self._offsets.get(name)

    def contains(self, name: str, offset: int) -> bool:
        """Whether the entries that were followed committed the chunk at this offset."""
        return self._offsets.get(name, 0) > offset

    def _restart(self) -> None:
        """Continue at the newest entry, without earlier offsets."""
        stems = [name.removesuffix(".json") for name in newest_names(self._log)]
        numbers = [int(stem) for stem in stems if stem.isdecimal()]
        self.version = max(numbers, default=NO_VERSION)
        self._offsets = {}

    def _read_entry(self, number: int) -> dict[str, int] | None:
        """Offsets of an entry; None when it does not exist or is torn, so not committed."""
        try:
            return entry_numbers(self._log.read(entry_name(number)))
        except (FileNotFoundError, msgspec.DecodeError):
            return None


def entry_numbers(entry: bytes) -> dict[str, int]:
    """The numbers that a log entry sets, by application id; DecodeError when it is torn."""
    transactions = [_decoder.decode(line).txn for line in entry.splitlines()]
    return {
        transaction.app_id: transaction.version
        for transaction in transactions
        if transaction is not None
    }
