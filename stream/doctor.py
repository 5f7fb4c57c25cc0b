"""At the start: the newest log entry of a table, if a power cut tore it, is put aside.

It was never acknowledged, because that waits for the entry to be on the disk; Kafka still has its
messages and they are stored again. Older entries are on the disk for sure; a torn one among them is
nothing to repair silently, and the table does not open.
"""

import logging
from pathlib import Path

import msgspec

from schemas.lake import locate
from schemas.settings import Settings
from schemas.tables import TABLES
from stream.store import LOG, folder_of, sync

log = logging.getLogger(__name__)


def examine(settings: Settings) -> None:
    """Every table that lies on a local disk."""
    for table in TABLES:
        folder = folder_of(locate(settings.lake_url, table))
        if folder and (folder / LOG).is_dir():
            mend(folder / LOG)


def mend(entries: Path) -> Path | None:
    """Put the newest entry aside when it is torn; answers where it is then."""
    newest = max(entries.glob("[0-9]*.json"), default=None)
    if newest is None or is_whole(newest.read_bytes()):
        return None
    aside = newest.with_name(f"_torn-{newest.name}")
    newest.rename(aside)
    sync(entries)
    log.error("torn log entry put aside", extra={"entry": str(newest), "now": aside.name})
    return aside


def is_whole(entry: bytes) -> bool:
    """Whether it is lines of JSON objects, at least one."""
    try:
        lines = [msgspec.json.decode(line, type=dict) for line in entry.splitlines()]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return bool(lines)
