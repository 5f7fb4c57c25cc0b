"""Every table as any engine reads it: the rules T1 to T14 of the files."""

import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from schemas.kinds import KINDS, TABLES
from schemas.lake.delta_table import UnreadableTable, open_table
from schemas.lake.table_location import table_url
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, IMPORTED_TOTALS, Table
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.compaction import compact
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import NOON_MS, a_message, an_envelope, settings, version
from tests.stream.imported_totals import store as store_totals

ITEMS: dict[str, dict[str, Any]] = {
    "custom_event": {
        "name": "screen_view",
        "path": "https://a.example/é?utm_source=x",
        "anonymousId": "visitor",
        "sessionId": "session",
        "properties": {"price": 12.5, "big": 2**70, "text": "\u0000 ü"},
        "time_on_page": 1.23456,
    },
    "web_vitals": {"path": "/", "metricName": "LCP", "metricValue": 1e12},
    "error": {"message": "boom", "lineno": 2**31 - 1, "stack": "a\nb"},
    "click": {"slug": "abc", "anonymousId": "visitor"},
    "engagement": {"path": "/", "activeTime": 1.5, "formFieldCount": 2},
    "identity": {"profileId": "p1", "traits": {"plan": "pro"}},
}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Every table has rows in several data files, some of them compacted."""
    config = settings(tmp_path_factory.mktemp("lake"), small_parts=2)
    fill(config)
    return config


def fill(config: Settings) -> None:
    for kind in KINDS:
        writer = BatchWriter(config, kind, Lookups())
        for offset in range(3):
            item = {**ITEMS[kind.name], "timestamp": NOON_MS - offset * 86_400_000 - 7}
            message = a_message(offset, an_envelope([item] * 4, subject_id=f"s{offset}"))
            writer.write([message, a_message(offset, body=b"garbage", partition=1)])
            if offset == 1:
                for table in TABLES:
                    compact(LakeTable(config, table), config)
    for number in range(3):
        store_totals(config, f"i{number}", [-9, -8, number, number + 1])
        compact(LakeTable(config, IMPORTED_TOTALS), config)


def by_order(table: Table) -> str:
    return ", ".join(f'"{column}" NULLS FIRST' for column in table.sort_order)


def through_duckdb(config: Settings, table: Table, columns: str) -> list[tuple[Any, ...]]:
    paths = [part.path for part in version(config, table).data_files]
    duckdb.execute("SET TimeZone = 'UTC'")
    return duckdb.execute(
        f"""
        SELECT {columns}
          FROM read_parquet(?, union_by_name = true, hive_partitioning = true)
         ORDER BY {by_order(table)}
        """,
        [paths],
    ).fetchall()


def through_polars(config: Settings, table: Table, names: list[str]) -> list[tuple[Any, ...]]:
    frame = pl.read_delta(table_url(config.lake_url, table))
    return frame.sort(table.sort_order, nulls_last=False).select(names).rows()


def through_datafusion(config: Settings, table: Table, columns: str) -> list[tuple[Any, ...]]:
    handle = DeltaTable(table_url(config.lake_url, table))
    actual = pa.table(
        QueryBuilder()
        .register("t", handle)
        .execute(f"SELECT {columns} FROM t ORDER BY {by_order(table)}")
        .read_all()
    )
    return [tuple(row.values()) for row in actual.to_pylist()]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_three_engines_read_the_same_rows(config: Settings, table: Table) -> None:
    names = [column.name for column in table.columns]
    columns = ", ".join(f'"{name}"' for name in names)

    expected = through_duckdb(config, table, columns)

    assert len(expected) >= 12
    assert through_polars(config, table, names) == expected
    assert through_datafusion(config, table, columns) == expected


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_data_files_use_only_types_that_every_engine_reads(
    config: Settings, table: Table
) -> None:
    paths = [part.path for part in version(config, table).data_files]

    chunks = duckdb.execute(
        "SELECT DISTINCT encodings, compression, type FROM parquet_metadata(?)", [paths]
    ).fetchall()
    kinds = duckdb.execute(
        "SELECT DISTINCT type, converted_type FROM parquet_schema(?)", [paths]
    ).fetchall()

    assert {compression for _, compression, _ in chunks} == {"ZSTD"}
    assert not any("BYTE_STREAM_SPLIT" in encodings for encodings, *_ in chunks)
    assert {physical for *_, physical in chunks} <= {"BYTE_ARRAY", "INT64", "INT32", "BOOLEAN"} | {
        "FIXED_LEN_BYTE_ARRAY"
    }
    assert not any("UINT" in str(logical) for _, logical in kinds)


def test_a_table_requires_reader_protocol_1_only(tmp_path: Path) -> None:
    table = LakeTable(settings(tmp_path, tombstone_minutes=15, log_minutes=60), EVENTS)

    protocol = table.handle.protocol()

    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
    assert not protocol.reader_features
    assert table.handle.metadata().configuration == {
        "delta.enableDeletionVectors": "false",
        "delta.checkpointInterval": "100",
        "delta.deletedFileRetentionDuration": "interval 15 minutes",
        "delta.logRetentionDuration": "interval 60 minutes",
    }


def test_a_table_with_deletion_vectors_is_refused(tmp_path: Path) -> None:
    config = settings(tmp_path)
    LakeTable(config, EVENTS)
    log = Path(table_url(config.lake_url, EVENTS)) / "_delta_log"
    newest = max(int(entry.stem) for entry in log.glob("*.json"))
    features = ["deletionVectors"]
    upgrade = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": features,
            "writerFeatures": features,
        }
    }
    (log / f"{newest + 1:020}.json").write_text(json.dumps(upgrade))

    with pytest.raises(UnreadableTable, match="deletion vectors"):
        open_table(config.lake_url, EVENTS)
    with pytest.raises(UnreadableTable, match="deletion vectors"):
        LakeTable(config, EVENTS)


def test_instants_are_whole_milliseconds(tmp_path: Path) -> None:
    config = settings(tmp_path)
    item = {"name": "x", "timestamp": NOON_MS - 1234.5678}
    BatchWriter(config, KINDS[0], Lookups()).write([a_message(0, an_envelope([item]))])

    actual = through_duckdb(config, EVENTS, "epoch_us(ts)")

    assert actual == [((NOON_MS - 1235) * 1000,)]


def test_data_files_have_relative_paths_and_statistics_in_the_log(tmp_path: Path) -> None:
    config = settings(tmp_path)
    items = [{"name": "x", "timestamp": NOON_MS - n} for n in (3, 1, 2)]
    BatchWriter(config, KINDS[0], Lookups()).write([a_message(0, an_envelope(items))])

    entry = tmp_path / "lake" / "events" / "_delta_log" / f"{1:020}.json"
    adds = [json.loads(line)["add"] for line in entry.read_text().splitlines() if '"add"' in line]

    assert adds[0]["path"].startswith("day=2026-11-21/")
    assert json.loads(adds[0]["stats"]) == {
        "numRecords": 3,
        "minValues": {
            "website_id": "w1",
            "ts": "2026-11-21T11:59:59.997Z",
            "received_at": "2026-11-21T12:00:00.000Z",
            "kafka_partition": 0,
        },
        "maxValues": {
            "website_id": "w1",
            "ts": "2026-11-21T11:59:59.999Z",
            "received_at": "2026-11-21T12:00:00.000Z",
            "kafka_partition": 0,
        },
        "nullCount": {"website_id": 0, "ts": 0, "received_at": 0, "kafka_partition": 0},
    }
    part = version(config, EVENTS).data_files[0]
    assert (part.day, part.rows, part.ts_range, part.subject_range, part.max_received_ms) == (
        "2026-11-21",
        3,
        (NOON_MS - 3, NOON_MS - 1),
        ("w1", "w1"),
        NOON_MS,
    )
