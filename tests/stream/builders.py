"""Valid messages, envelopes and lakes; a test names only the detail that it is about."""

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.envelope import Envelope, encode_chunk, encode_envelope
from schemas.lake.delta_table import DataFile, TableVersion, open_table, read_version
from schemas.runtime.settings import Settings
from schemas.tables import Table
from stream.rows.kafka_message import KafkaMessage, open_message
from stream.storage.delta_commit import LakeTable
from stream.storage.parquet_writer import NewDataFile, statistics

NOON_MS = 1_795_262_400_000
"""2026-11-21 12:00:00 UTC."""

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/141.0.0.0 Safari/537.36"
)


def settings(folder: Path, **others: Any) -> Settings:
    return Settings(data_dir=str(folder), **others)


def an_envelope(items: Sequence[Any] | bytes = (), **others: Any) -> Envelope:
    body = items if isinstance(items, bytes) else json.dumps(list(items)).encode()
    count = 1 if isinstance(items, bytes) else len(items)
    config = {
        "subject_id": "w1",
        "organization_id": "o1",
        "received_ms": NOON_MS,
        "user_agent": CHROME,
    }
    return Envelope(**{**config, "count": count, "items": body, **others})


def a_message(
    offset: int, *envelopes: Envelope, partition: int = 0, body: bytes | None = None
) -> KafkaMessage:
    whole = (
        encode_chunk([encode_envelope(envelope) for envelope in envelopes])
        if body is None
        else body
    )
    return open_message(partition, offset, NOON_MS, whole)


def named(*names: str) -> Envelope:
    """An envelope of events with these names."""
    return an_envelope([{"name": name} for name in names])


def version(config: Settings, table: Table) -> TableVersion:
    handle = open_table(config.lake_url, table)
    assert handle is not None
    return read_version(handle, table)


def rows(config: Settings, table: Table, *columns: str) -> list[tuple[Any, ...]]:
    """These columns of everything in a table, sorted."""
    paths = [part.path for part in version(config, table).data_files]
    if not paths:
        return []
    names = ", ".join(f'"{column}"' for column in columns)
    return duckdb.execute(
        f"SELECT {names} FROM read_parquet(?, union_by_name = true) ORDER BY ALL", [paths]
    ).fetchall()


def replace_data_file(table: LakeTable, part: DataFile, held: pa.Table) -> Path:
    """Other rows in place of a data file's, in one without a checksum; its path."""
    folder = Path(part.path).parent
    path = folder / f"old-{uuid.uuid4().hex}.parquet"
    pq.write_table(held, path)
    new = NewDataFile(
        f"{folder.name}/{path.name}",
        part.day,
        path.stat().st_size,
        statistics(table.table, held),
    )
    table.replace_same_rows([f"{folder.name}/{Path(part.path).name}"], [new], part.day)
    table.refresh()
    return path


def balance(config: Settings, ledger: Table) -> tuple[int, int, int]:
    """Sums of the ledger: received, stored, quarantined."""
    actual = rows(config, ledger, "received", "stored", "quarantined")
    return sum(r for r, _, _ in actual), sum(s for _, s, _ in actual), sum(q for *_, q in actual)
