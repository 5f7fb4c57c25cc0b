"""Data set of one website's events, made faster than by `tests.bench.dataset`.

DuckDB writes the data files of a day as compaction leaves them: one for rows in time, one for late
rows. There are no other websites and no other tables.
"""

from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import duckdb
import msgspec

from schemas.registry.migrate import migrate
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.maintenance.compaction import Side, adopt, write_sorted
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.parquet_writer import NewDataFile
from tests.bench.dataset import DAYS, FIRST, DataSet, of_day, registered, stored
from tests.bench.traffic_sql import MACROS, select_day, traffic_mix


class LakeFiles(DataSet, frozen=True):
    """The data set; plain DuckDB reads the data files of the lake."""

    def plain(self, table: str) -> str:
        return f"{self.folder}/lake/{table}/day=*/*.parquet"


def make(folder: Path, events: int) -> LakeFiles:
    """Make it, or find it made; `events` in 30 days."""
    if (found := stored(folder)) is not None:
        migrate(found.settings.registry_url)  # which may be older than the services
        return LakeFiles(found.folder, found.events, found.key)
    settings = Settings(data_dir=str(folder))
    lake = LakeTable(settings, EVENTS)
    with closing(duckdb.connect()) as connection:
        connection.execute(f"SET TimeZone = 'UTC'; SET threads = 2; {MACROS}")
        for number in range(DAYS):
            lake.refresh()
            files = list(files_of_day(connection, lake, number, of_day(events, number)))
            lake.commit(files, {"bench": OffsetUpdate(number, number + 1)})
    lake.refresh()
    lake.handle.create_checkpoint()
    data_set = LakeFiles(str(folder), events, registered(settings))
    (folder / "set.json").write_bytes(msgspec.json.encode(data_set))
    return data_set


def files_of_day(
    connection: duckdb.DuckDBPyConnection, lake: LakeTable, number: int, rows: int
) -> Iterator[NewDataFile]:
    """The sorted data files of a day, in the table's folder and in no version yet."""
    day: date = FIRST + timedelta(days=number)
    folder = Path(lake.handle.table_uri.removeprefix("file://")).parent
    made = folder / "made.parquet"
    rows_of_day = select_day(EVENTS, str(day), number, traffic_mix(rows, DAYS))
    connection.execute(f"COPY ({rows_of_day}) TO '{made}' (FORMAT parquet, COMPRESSION snappy)")
    for side in (Side.DAY, Side.LATE):
        for target in write_sorted(EVENTS, day, [made], side, folder / f"{side}.parquet"):
            yield adopt(lake, day, target)
            target.unlink(missing_ok=True)
    made.unlink()
