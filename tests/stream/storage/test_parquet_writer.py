"""A data file has its rows in the table's order, and random values without a dictionary."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import EVENTS
from stream.rows.arrow_tables import arrow_table
from stream.storage.object_store import LocalStorage
from stream.storage.parquet_writer import ENCODINGS, write_data_file
from stream.storage.table_schema import arrow_schema

ROWS = 500


def written(folder: Path, rows: pa.Table) -> pq.ParquetFile:
    folder.mkdir(exist_ok=True)
    file = write_data_file(LocalStorage(folder), EVENTS, "2026-11-27", rows)
    assert file.stats["numRecords"] == rows.num_rows
    return pq.ParquetFile(folder / file.path)


def events() -> pa.Table:
    chance = random.Random(1)
    return arrow_table(
        EVENTS,
        {
            "website_id": [f"w{chance.randrange(3)}" for _ in range(ROWS)],
            "ts": [chance.randrange(50) for _ in range(ROWS)],
            "received_at": [0] * ROWS,
            "epoch": [0] * ROWS,
            "kafka_partition": [chance.randrange(4) for _ in range(ROWS)],
            "kafka_offset": list(range(ROWS)),
            "seq": [0] * ROWS,
            "event_id": [f"{chance.getrandbits(128):032x}" for _ in range(ROWS)],
            "event_hash": [chance.getrandbits(62) for _ in range(ROWS)],
            "path": [f"/{chance.randrange(9)}" for _ in range(ROWS)],
        },
    )


def test_rows_have_the_order_of_the_table_and_keep_together(tmp_path: Path) -> None:
    rows = events()

    found = written(tmp_path, rows).read().to_pylist()

    order = EVENTS.sort_order
    assert found == sorted(rows.to_pylist(), key=lambda row: [row[name] for name in order])


def test_random_values_have_no_dictionary(tmp_path: Path) -> None:
    file = written(tmp_path, events())

    group = file.metadata.row_group(0)
    chunks = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    assert {name for name in (*ENCODINGS, "path") if chunks[name].has_dictionary_page} == {"path"}
    assert [chunks[name].encodings[-1] for name in ENCODINGS] == list(ENCODINGS.values())


def test_readers_see_strings_where_rows_are_dictionaries(tmp_path: Path) -> None:
    rows = events()
    place = rows.schema.get_field_index("path")
    encoded = rows.set_column(place, "path", rows["path"].combine_chunks().dictionary_encode())

    file = written(tmp_path / "a", encoded)

    assert file.schema_arrow == arrow_schema(EVENTS)
    assert file.read() == written(tmp_path / "b", rows).read()
