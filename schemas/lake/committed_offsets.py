"""How far the tables are: the next offsets that commits move, read from a log's newest entries.

Whoever waits for an item to be stored looks here many times a second, so it must cost next to
nothing: a look is one attempt to open the file of the next entry. Lakes on a local disk only; of
others the log is not a folder.
"""

import re
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.lake.delta_log import LOG
from schemas.lake.table_location import folder_of, locate
from schemas.tables import Table

FRESH_SECONDS = 0.2
"""How old the version may be that a question pins."""

FORGETS_SECONDS = 30.0
"""Entries stay for at least a minute; who has not looked for so long begins anew."""

NEVER = -1
"""Number of the version of a table that does not exist yet."""


class _Move(Struct, rename="camel"):
    app_id: str
    version: int


class _Action(Struct):
    txn: _Move | None = None


_GONE = re.compile(r"messages (\d+) to (\d+) were gone")
_decoder = msgspec.json.Decoder(_Action)


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
    folder = folder_of(locate(lake, table))
    return folder / LOG if folder else None


def gone(first: int, next_: int) -> str:
    """The note about messages that Kafka deleted before they were read."""
    return f"messages {first} to {next_ - 1} were gone from Kafka, unread"


def made_anew(epoch: int, next_: int) -> str:
    """The note about a topic that was made anew: how far the one before it had been read."""
    return (
        f"the topic was made anew: of the one before (epoch {epoch}) messages up to {next_ - 1} "
        "are stored; any acknowledged after them are lost"
    )


def gone_offsets(note: str) -> range:
    """The offsets that such a note is about."""
    said = _GONE.match(note)
    return range(int(said[1]), int(said[2]) + 1) if said else range(0)


class Log:
    """Follows one table's log. Not for two threads at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._looked = float("-inf")
        self._moves: dict[str, int] = {}
        self.version = NEVER
        """Number of the newest entry that was read."""

    def looked_within(self, seconds: float) -> bool:
        """Whether the last look is no older than that."""
        return time.monotonic() - self._looked < seconds

    def look(self) -> bool:
        """Read what came since; False when there was a gap, and what was known before is void."""
        followed = self.looked_within(FORGETS_SECONDS)
        if not followed:
            self._begin()
        while (moves := self._entry(self.version + 1)) is not None:
            self._moves |= moves
            self.version += 1
        self._looked = time.monotonic()
        return followed

    def next_offset(self, name: str) -> int | None:
        """The next offset as the entries since the last gap moved it; None when none did."""
        return self._moves.get(name)

    def holds(self, name: str, offset: int) -> bool:
        """Whether entries since the last gap brought the chunk at this offset."""
        return self._moves.get(name, 0) > offset

    def _begin(self) -> None:
        """Stand at the newest entry, and know nothing of what came before."""
        numbers = [int(entry.stem) for entry in self._folder.glob("[0-9]*[0-9].json")]
        self.version = max(numbers, default=NEVER)
        self._moves = {}

    def _entry(self, number: int) -> dict[str, int] | None:
        """What an entry moves; None when it is not there, or torn: then it was never committed."""
        try:
            lines = (self._folder / f"{number:020}.json").read_bytes().splitlines()
            moves = [_decoder.decode(line).txn for line in lines]
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return {move.app_id: move.version for move in moves if move is not None}
