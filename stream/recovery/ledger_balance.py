"""The ledger against the tables: rows that were counted and are not there, and rows not counted.

Each table is opened once, and ledger and quarantine are read once for all topics.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from schemas.kinds import KINDS
from schemas.lake.committed_offsets import app_id, epoch_app_id
from schemas.lake.damage_reports import DamageReports
from schemas.runtime.finding import Finding, finding_id
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE
from stream.maintenance.merge_plan import live_data_files
from stream.rows.quarantine import QuarantineStage
from stream.storage.table_reader import TableReader, open_readers
from stream.writing.ledger_repair import OFFSET, PARTITION, missing_ranges

MAX_NAMED_FILES = 10
REPAIR_COMMAND = "tidemark doctor --repair"
FOREIGN_OPERATIONS = frozenset(("DELETE", "UPDATE", "MERGE", "RESTORE", "TRUNCATE"))
"""Operations in `commitInfo` of a Delta log; each version of ours is a WRITE."""
MAX_NAMED_CHANGES = 3
COUNTED = ("stored", "duplicate", "quarantined")

Counts = dict[str, int]
"""Rows by how they were counted, one of COUNTED."""


def check_balance(settings: Settings) -> Iterator[Finding]:
    """Tables and quarantine whose number of rows differs from the ledger's count."""
    mains = open_readers(settings, (kind.table for kind in KINDS))
    sides = open_readers(settings, (LEDGER, QUARANTINE))  # later: an intact one is not behind then
    if len(sides) < 2:
        return
    by_topic = {
        settings.topic(kind.topic): mains[kind.table.name]
        for kind in KINDS
        if kind.table.name in mains
    }
    counted = _ledger_counts(sides[LEDGER.name], by_topic)
    quarantined = _quarantine_counts(sides[QUARANTINE.name], by_topic)
    for topic, main in by_topic.items():
        if finding := _behind(settings, topic, main, sides[LEDGER.name]):
            yield finding
            continue
        actual = {"stored": _live_rows(main), **quarantined[topic]}
        for name, rows in actual.items():
            if rows != counted[topic][name]:
                yield _mismatch(topic, main, name, rows, counted[topic][name])


def _live_rows(main: TableReader) -> int:
    files = live_data_files(main.handle, main.table)
    return sum(file.rows for file in files if not file.is_imported)


def _ledger_counts(ledger: TableReader, mains: Mapping[str, TableReader]) -> dict[str, Counts]:
    """The ledger's sums by topic, up to the tables' next offsets; a batch may be running."""
    sums = {topic: dict.fromkeys(COUNTED, 0) for topic in mains}
    for topic, *values in _rows_held(ledger, mains, *COUNTED):
        for name, value in zip(COUNTED, values, strict=True):
            sums[topic][name] += value
    return sums


def _quarantine_counts(
    quarantine: TableReader, mains: Mapping[str, TableReader]
) -> dict[str, Counts]:
    """The quarantine's items by topic, up to the tables' next offsets."""
    sums = {topic: {"duplicate": 0, "quarantined": 0} for topic in mains}
    for topic, stage in _rows_held(quarantine, mains, "stage"):
        if stage != QuarantineStage.LOST.value:
            is_duplicate = stage == QuarantineStage.DUPLICATE.value
            change = -1 if stage == QuarantineStage.REPLAYED.value else 1
            sums[topic]["duplicate" if is_duplicate else "quarantined"] += change
    return sums


def _rows_held(
    side: TableReader, mains: Mapping[str, TableReader], *names: str
) -> Iterator[tuple[Any, ...]]:
    """Topic and columns of those rows of a side table whose messages the main tables hold."""
    for batch in side.batches(("topic", "epoch", PARTITION, OFFSET, *names)):
        columns = (column.to_pylist() for column in batch.columns)
        for topic, epoch, partition, offset, *values in zip(*columns, strict=True):
            if topic in mains and (
                epoch is None or offset < mains[topic].number(app_id(epoch, topic, partition))
            ):
                yield topic, *values


def _mismatch(topic: str, main: TableReader, name: str, rows: int, counted: int) -> Finding:
    table = main.table.name if name == "stored" else QUARANTINE.name
    changes = foreign_changes(main) if name == "stored" else ()
    if changes:
        meaning = (
            "Another tool changed rows. Queries answer by the rows that are there, and nothing "
            "else is affected."
        )
        remedy = "accept it, if that was on purpose; else "
    else:
        meaning = (
            "Rows or ledger entries were lost: part of the lake is missing or from another time "
            "than the rest. The remaining rows are correct."
        )
        remedy = "tidemark verify names websites, hours and offsets; "
    return Finding(
        subject=f"{table}, topic {topic}",
        problem=f"{rows} rows are {name}, but the ledger counted {counted}"
        + (f"; {', '.join(changes)}" if changes else ""),
        meaning=meaning,
        remedy=f"{remedy}restore a backup that has the rows into another folder (tidemark restore "
        "TARGET --into FOLDER) and switch over; without one accept the finding",
        id=finding_id("unbalanced", table, topic, name, rows - counted),
    )


def foreign_changes(main: TableReader) -> list[str]:
    """Versions in the log by which another tool changed or deleted rows; ours only append."""
    return [
        f"version {commit['version']} is a {commit['operation']} of another tool"
        for commit in main.handle.history()
        if commit.get("operation") in FOREIGN_OPERATIONS
    ][:MAX_NAMED_CHANGES]


def _behind(
    settings: Settings, topic: str, main: TableReader, ledger: TableReader
) -> Finding | None:
    """A ledger that lost its newest entries: its counts are too low until they are rebuilt."""
    epoch = main.number(epoch_app_id(topic)) or settings.ingest_epoch
    missing = missing_ranges(ledger.number, topic, epoch, _next_offsets(main, topic, epoch))
    if not missing:
        return None
    messages = sum(update.next - update.expected for _, update in missing.values())
    reports = DamageReports(settings.data)
    damaged = [
        *reports.of_table(main.table.name).values(),
        *reports.of_table(QUARANTINE.name).values(),
    ]
    files = ", ".join(f"{file.table}/{file.path}" for file in damaged[:MAX_NAMED_FILES])
    return Finding(
        subject=f"{LEDGER.name}, topic {topic}",
        problem=f"it is behind table '{main.table.name}' by {messages} messages"
        + (f", and it would be rebuilt from damaged data files: {files}" if damaged else ""),
        meaning="The rows are stored and queries return them; only the counts of these messages "
        "are missing from the ledger, so it cannot be checked whether items are missing.",
        remedy=(f"{REPAIR_COMMAND} (repairs the data files), then " if damaged else "")
        + "restart Tidemark: a worker rebuilds the counts from the rows when it starts",
    )


def _next_offsets(main: TableReader, topic: str, epoch: int) -> dict[int, int]:
    """The table's next offsets of a topic's partitions in an epoch."""
    prefix = app_id(epoch, topic, 0).removesuffix("0")
    named = (
        (name.removeprefix(prefix), at)
        for name, at in main.numbers.items()
        if name.startswith(prefix)
    )
    return {int(partition): at for partition, at in named if partition.isdecimal()}
