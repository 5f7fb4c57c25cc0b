"""Data files of events with equal, missing and late values, and their rows in order."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import EVENTS, Table
from stream.maintenance.sorted_rows import SLOT_MINUTES
from stream.storage.table_schema import arrow_schema

MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)
COLUMNS = (
    *("website_id", "ts", "visitor_hash", "session_hash", "epoch", "kafka_partition"),
    *("kafka_offset", "seq", "event_id", "path", "time_on_page"),
)

Row = dict[str, Any]


def made_rows(count: int) -> list[Row]:
    """Rows of five websites, one of which has half of them, and of none."""
    chance = random.Random(3)
    return [
        {
            "website_id": None if n % 50 == 7 else "wé" if n % 2 else f"w{n % 10}",
            "ts": MIDNIGHT + timedelta(seconds=chance.randrange(-900, 5_400)),
            "visitor_hash": chance.choice([None, 1, 2, 3 << 60, 5]),
            "session_hash": chance.choice([None, 1, 2]),
            "epoch": chance.choice([None, 1]),
            "kafka_partition": n % 3,
            "kafka_offset": n // 7,
            "seq": n % 7,
            "event_id": f"e{n}",
            "path": chance.choice([None, "/", "/é", f"/{n}"]),
            "time_on_page": chance.choice([None, n]),
        }
        for n in range(count)
    ]


def written(folder: Path, rows: list[Row], files: int = 3, row_group: int = 128) -> list[Path]:
    """Data files with these rows in turn."""
    types = arrow_schema(EVENTS)
    schema = pa.schema([types.field(name) for name in COLUMNS])
    paths = [folder / f"{number}.parquet" for number in range(files)]
    for number, path in enumerate(paths):
        found = pa.Table.from_pylist(rows[number::files], schema)
        pq.write_table(found, path, row_group_size=row_group)
    return paths


def in_order(rows: list[Row], table: Table) -> list[Row]:
    """The rows sorted, without a look at how merges do it."""
    return sorted(rows, key=_by_visitor if table is EVENTS else _by_time)


def _by_visitor(row: Row) -> Any:
    time = row["ts"].timestamp()
    visitor = row["visitor_hash"]
    visitor = round(time * 1000) if visitor is None else visitor
    slot = time // (SLOT_MINUTES * 60)
    key = [row[name] for name in ("epoch", "kafka_partition", "kafka_offset", "seq")]
    values = (row["website_id"], slot, visitor, row["session_hash"], *key)
    return [(value is None, value or 0 if value is not None else 0) for value in values]


def _by_time(row: Row) -> Any:
    names = ("website_id", "ts", "epoch", "kafka_partition", "kafka_offset", "seq")
    return [(row[name] is None, row[name] if row[name] is not None else 0) for name in names]
