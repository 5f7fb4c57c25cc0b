"""Counts of acknowledged items per hour: files that survive the loss of Kafka.

`<data>/acknowledged/<hour>/<process>-<start>.json`: one file per process that ran in that hour,
always replaced as a whole by the sums since its start, so nothing is counted twice. Counts that a
killed process had not written are missing: then more is received than acknowledged, never less.
"""

import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.runtime.files import matching_files, read_regular, write_atomically

ACKNOWLEDGED_FOLDER = "acknowledged"
HOUR_MS = 3_600_000
RETENTION_HOURS = 14 * 24


class AcknowledgedCount(Struct, frozen=True, array_like=True):
    """Items of one subject in one topic, by hour of receipt."""

    topic: str
    """Without the topic prefix."""
    subject_id: str
    items: int


CountsByHour = Mapping[int, Mapping[tuple[str, str], int]]
"""Items by hour (Unix milliseconds), then by topic and subject."""


def write_hour(
    folder: Path, hour_ms: int, process: str, counts: Mapping[tuple[str, str], int]
) -> None:
    """Replace the counts of a process for an hour."""
    target = folder / _hour_name(hour_ms) / f"{process}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = [AcknowledgedCount(topic, subject, items) for (topic, subject), items in counts.items()]
    write_atomically(target, msgspec.json.encode(lines))


def read_hours(folder: Path) -> CountsByHour:
    """Sums over all processes; files that cannot be read are ignored."""
    hours: dict[int, dict[tuple[str, str], int]] = {}
    for path in matching_files(folder, "*/*.json"):
        try:
            lines = msgspec.json.decode(read_regular(path), type=list[AcknowledgedCount])
            counts = hours.setdefault(_parse_hour(path.parent.name), {})
        except (OSError, ValueError):
            continue
        for line in lines:
            key = line.topic, line.subject_id
            counts[key] = counts.get(key, 0) + line.items
    return hours


def delete_old_hours(folder: Path, now_ms: int) -> None:
    """Delete counts older than two weeks, which is beyond the retention of the topics."""
    oldest = _hour_name(now_ms - RETENTION_HOURS * HOUR_MS)
    for hour in _hour_folders(folder):
        if hour.name < oldest:
            shutil.rmtree(hour, ignore_errors=True)


def _hour_folders(folder: Path) -> Iterable[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else ()


def _hour_name(hour_ms: int) -> str:
    return f"{datetime.fromtimestamp(hour_ms / 1000, UTC):%Y-%m-%dT%H}"


def _parse_hour(name: str) -> int:
    return int(datetime.strptime(name, "%Y-%m-%dT%H").replace(tzinfo=UTC).timestamp()) * 1000
