"""Data set of generated traffic, stored by the worker's writer and by compaction.

`python -m tests.bench.dataset FOLDER [EVENTS]` makes it: EVENTS of one website in 30 days (default
10 million) among twice as many of others; and beside it, for plain DuckDB, one well-written Parquet
file per table with the rows of that website alone.
"""

import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa
from msgspec import Struct, structs

from schemas.registry import KeyScope, Link, Organization, RegistryStore, Website
from schemas.registry.migrate import migrate
from schemas.registry.validation import new_key
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import CLICKS, ERRORS, EVENTS, VITALS, Table
from stream.maintenance.compaction import compact
from stream.maintenance.sorted_rows import ROW_GROUP
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.parquet_writer import write_data_file
from tests.bench.traffic_sql import LINK, MACROS, MINE, OWNER, WEBSITES, day_of, traffic_mix

FIRST = date(2026, 10, 1)
DAYS = 30
MANY = 10_000_000
PART_ROWS = 62_500
MIN_PARTS = 2
"""Data files of a day: a single one would not be merged, and would stay as the worker wrote it."""
SHARES = {EVENTS: 1.0, VITALS: 0.06, ERRORS: 0.01, CLICKS: 0.01}
"""Rows of each table by event."""
PLAIN_MEMORY = "4GB"


class DataSet(Struct, frozen=True):
    """Where it lies, and the key that may ask about it."""

    folder: str
    events: int
    key: str
    first: date = FIRST

    @property
    def last(self) -> date:
        """Its last day."""
        return self.first + timedelta(days=DAYS - 1)

    @property
    def settings(self) -> Settings:
        """Settings of the services over the data set."""
        return Settings(data_dir=self.folder)

    def plain(self, table: str) -> str:
        """The one file with the website's rows."""
        return f"{self.folder}/plain/{table}.parquet"

    def span(self, days: int = DAYS) -> dict[str, str]:
        """The last so many days."""
        return {"startDate": str(self.last - timedelta(days=days - 1)), "endDate": str(self.last)}

    def day(self, back: int) -> dict[str, str]:
        """The day so many days before the last."""
        day = self.last - timedelta(days=back)
        return {"startDate": str(day), "endDate": str(day)}


def stored(folder: Path) -> DataSet | None:
    """The data set in that folder; None when it is missing or incomplete."""
    try:
        data_set = msgspec.json.decode((folder / "set.json").read_bytes(), type=DataSet)
    except FileNotFoundError:
        return None
    return structs.replace(data_set, folder=str(folder))  # it may have been moved


def make(
    folder: Path,
    events: int = MANY,
    others: int | None = None,
    websites: int = WEBSITES,
    tables: Collection[Table] = tuple(SHARES),
    first: date = FIRST,
) -> DataSet:
    """Make it, or find it made; `others` are events of so many other `websites`."""
    if (found := stored(folder)) is not None:
        migrate(found.settings.registry_url)  # which may be older than the services
        return found
    others = 2 * events if others is None else others
    settings = Settings(data_dir=str(folder), small_parts=2)
    with closing(duckdb.connect()) as connection:
        connection.execute(f"SET TimeZone = 'UTC'; SET threads = 2; {MACROS}")
        for table in tables:
            share = SHARES[table]
            crowds = (Crowd(round(events * share)), Crowd(round(others * share), websites))
            fill(connection, settings, table, crowds, first)
    data_set = DataSet(str(folder), events, registered(settings), first)
    for table in tables:
        write_plain(data_set, table)
    (folder / "set.json").write_bytes(msgspec.json.encode(data_set))
    return data_set


class Crowd(Struct, frozen=True):
    """Rows of a table, of the queried website or of so many others."""

    rows: int
    others: int = 0


def fill(
    connection: duckdb.DuckDBPyConnection,
    settings: Settings,
    table: Table,
    crowds: Sequence[Crowd],
    first: date,
) -> None:
    """Day after day: parts as workers write them, one commit, one compaction."""
    lake = LakeTable(settings, table)
    for number in range(DAYS):
        began, day = time.monotonic(), str(first + timedelta(days=number))
        mixes = [traffic_mix(of_day(crowd.rows, number), DAYS, crowd.others) for crowd in crowds]
        # Two numbers per day: the sessions of the two crowds are different ones.
        data_set = [
            day_of(connection, table, day, 2 * number + i, mix) for i, mix in enumerate(mixes)
        ]
        parts = [write_data_file(lake.store, table, day, rows) for rows in batches(data_set)]
        lake.commit(parts, {"bench": OffsetUpdate(number, number + 1)})
        compact(lake, settings)
        print(f"{table.name} {day}: {time.monotonic() - began:.1f} s", flush=True)
    lake.refresh()
    lake.handle.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    lake.handle.create_checkpoint()


def of_day(rows: int, number: int) -> int:
    """Number of rows of one day."""
    return rows * (number + 1) // DAYS - rows * number // DAYS


def batches(data_set: list[pa.Table]) -> Iterator[pa.Table]:
    """Slices through all crowds, as a worker would have read them."""
    count = max(MIN_PARTS, sum(rows.num_rows for rows in data_set) // PART_ROWS)
    for slice_ in range(count):
        yield pa.concat_tables(
            rows.slice(
                rows.num_rows * slice_ // count,
                rows.num_rows * (slice_ + 1) // count - rows.num_rows * slice_ // count,
            )
            for rows in data_set
        )


def registered(settings: Settings) -> str:
    """The website, a link and a key that may ask as often as it likes."""
    migrate(settings.registry_url)
    now = now_ms()
    key, text = new_key(OWNER, [KeyScope.READ_DATA], now)
    with closing(RegistryStore(settings.registry_url)) as store:
        store.create(
            Organization(
                id=OWNER, name="Bench", plan="enterprise", created_at=now, updated_at=now,
                limits={"query": 10**9, "custom": 10**9},
            )
        )  # fmt: skip
        store.create(
            Website(
                id=MINE, organization_id=OWNER, domain="bench.example",
                created_at=now, updated_at=now,
            )
        )  # fmt: skip
        store.create(
            Link(
                id=LINK, organization_id=OWNER, name="bench", target_url="https://t.example/",
                slug="bench", created_at=now, updated_at=now,
            )
        )  # fmt: skip
        store.create(key)
    return text


def write_plain(data_set: DataSet, table: Table) -> None:
    """The rows of the website, sorted, in one file."""
    target = Path(data_set.plain(table.name))
    target.parent.mkdir(exist_ok=True)
    subject = LINK if table is CLICKS else MINE
    files = LakeTable(data_set.settings, table).handle.file_uris()
    with closing(duckdb.connect()) as connection:
        connection.execute(
            f"SET TimeZone = 'UTC'; SET memory_limit = '{PLAIN_MEMORY}'; SET threads = 2;"
            f"SET temp_directory = '{target.parent}/spill'"
        )
        connection.execute(
            f"""
            COPY (SELECT * EXCLUDE ({table.subject_column}), {table.subject_column}
                    FROM read_parquet(?, hive_partitioning = false)
                   WHERE {table.subject_column} = ?
                   ORDER BY {", ".join(table.sort_order)})
              TO '{target}'
                 (FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})
            """,
            [[uri.removeprefix("file://") for uri in files], subject],
        )


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else MANY)
