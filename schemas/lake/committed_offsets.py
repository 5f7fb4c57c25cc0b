"""Committed offsets: next offsets of topic partitions, read from the newest Delta log entries.

Whoever waits for an item to be stored looks here many times a second, so it must cost next to
nothing: a look is one attempt to open the file of the next entry. Lakes on a local disk only; of
others the log is not a folder.
"""

import re
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.lake.delta_log import LOG_FOLDER
from schemas.lake.table_location import local_folder, table_url
from schemas.tables import Table

SNAPSHOT_MAX_AGE_SECONDS = 0.2
"""How old the version may be that a question pins."""

FOLLOW_TIMEOUT_SECONDS = 30.0
"""Entries stay for at least a minute; who has not looked for so long begins anew."""

NO_VERSION = -1
"""Number of the version of a table that does not exist yet."""


class _Transaction(Struct, rename="camel"):
    app_id: str
    version: int


class _LogAction(Struct):
    txn: _Transaction | None = None


_LOST_PATTERN = re.compile(r"messages (\d+) to (\d+) were gone")
_decoder = msgspec.json.Decoder(_LogAction)


def app_id(epoch: int, topic: str, partition: int) -> str:
    """Under which name a table keeps the next offset of a topic partition."""
    return f"{epoch}/{topic}/{partition}"


def epoch_app_id(topic: str) -> str:
    """Under which name a table keeps the newest epoch of a topic."""
    return f"topic/{topic}"


def identity_app_id(topic: str, identity: str) -> str:
    """Under which name a table keeps the epoch of the making of a topic that has this id."""
    return f"topic/{topic}/{identity}"


def cluster_app_id(topic: str, cluster: str) -> str:
    """Under which name a table keeps that this Kafka cluster fed it."""
    return f"cluster/{topic}/{cluster}"


def log_folder(lake: str, table: Table) -> Path | None:
    """The folder of the table's log; None when it is not on a local disk."""
    folder = local_folder(table_url(lake, table))
    return folder / LOG_FOLDER if folder else None


def lost_messages_reason(first: int, next_: int) -> str:
    """The note about messages that Kafka deleted before they were read."""
    return f"messages {first} to {next_ - 1} were gone from Kafka, unread"


def topic_recreated_reason(epoch: int, next_: int) -> str:
    """The note about a topic that was made anew: how far the one before it had been read."""
    return (
        f"the topic was made anew: of the one before (epoch {epoch}) messages up to {next_ - 1} "
        "are stored; any acknowledged after them are lost"
    )


def lost_offsets(reason: str) -> range:
    """The offsets that such a note is about."""
    match = _LOST_PATTERN.match(reason)
    return range(int(match[1]), int(match[2]) + 1) if match else range(0)


class LogFollower:
    """Follows one table's log. Not for two threads at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._polled_at = float("-inf")
        self._offsets: dict[str, int] = {}
        self.version = NO_VERSION
        """Number of the newest entry that was read."""

    def polled_within(self, seconds: float) -> bool:
        """Whether the last look is no older than that."""
        return time.monotonic() - self._polled_at < seconds

    def poll(self) -> bool:
        """Read what came since; False when there was a gap, and what was known before is void."""
        followed = self.polled_within(FOLLOW_TIMEOUT_SECONDS)
        if not followed:
            self._restart()
        while (offsets := self._read_entry(self.version + 1)) is not None:
            self._offsets |= offsets
            self.version += 1
        self._polled_at = time.monotonic()
        return followed

    def next_offset(self, name: str) -> int | None:
        """The next offset as the entries since the last gap moved it; None when none did."""
        return self._offsets.get(name)

    def contains(self, name: str, offset: int) -> bool:
        """Whether entries since the last gap brought the chunk at this offset."""
        return self._offsets.get(name, 0) > offset

    def _restart(self) -> None:
        """Stand at the newest entry, and know nothing of what came before."""
        numbers = [int(entry.stem) for entry in self._folder.glob("[0-9]*[0-9].json")]
        self.version = max(numbers, default=NO_VERSION)
        self._offsets = {}

    def _read_entry(self, number: int) -> dict[str, int] | None:
        """What an entry moves; None when it is not there, or torn: then it was never committed."""
        try:
            lines = (self._folder / f"{number:020}.json").read_bytes().splitlines()
            transactions = [_decoder.decode(line).txn for line in lines]
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return {
            transaction.app_id: transaction.version
            for transaction in transactions
            if transaction is not None
        }
