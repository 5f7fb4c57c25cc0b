"""Deduplication keys that compaction left out, because they follow from the event ids.

A merged file of a past day has the keys of requests only: keys of event ids are random numbers of
8 bytes, a sixth of the file, and are needed for 27 hours. Computing one takes about 1 µs.
"""

from collections.abc import Collection, Iterator
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.kinds import KINDS
from schemas.runtime.clock import now_ms
from schemas.tables import Table
from stream.enrich.rules.hashes import digests, owner_hash
from stream.state.bloom_filter import Ids
from stream.state.table_scan import PARTITION, RECEIVED_AT, scan_recent_rows
from stream.storage.delta_commit import LakeTable

EVENT_HASH, EVENT_ID, TRUSTED = "event_hash", "event_id", "trusted"
CLOCK_SLACK_MS = 3_600_000
"""How much the clock of the keeper may be ahead."""


def are_hashes_derived(table: Table) -> bool:
    """Whether the table has all that the key of an event id follows from."""
    names = {column.name for column in table.columns}
    return {EVENT_HASH, EVENT_ID, TRUSTED} <= names


def scan_derived_hashes(
    table: LakeTable, partitions: Collection[int], since_ms: int
) -> Iterator[pa.RecordBatch]:
    """The rows whose key is not stored, with partition, time of receipt and the key."""
    if not are_hashes_derived(table.table):
        return
    rows = scan_recent_rows(
        table,
        [EVENT_ID, table.table.subject_column, TRUSTED],
        pc.field(EVENT_HASH).is_null() & (pc.field(EVENT_ID) != "") & pc.field(TRUSTED).is_valid(),
        partitions,
        since_ms,
        lambda path: _may_lack_hashes(table, path),
    )
    (kind,) = (kind.name for kind in KINDS if kind.table.name == table.table.name)
    for batch in rows:
        hashes = _owners(kind, table.table, batch) ^ _digests(batch[EVENT_ID])
        yield pa.RecordBatch.from_arrays(
            [batch[PARTITION], batch[RECEIVED_AT], pa.array(hashes.view(np.int64))],
            names=[PARTITION, RECEIVED_AT, EVENT_HASH],
        )


def _digests(event_ids: pa.Array) -> Ids:
    found = b"".join(digests(event_ids.to_pylist()))
    return np.frombuffer(found, ">u8").astype(np.uint64) >> np.uint64(1)


def _owners(kind: str, table: Table, rows: pa.RecordBatch) -> Ids:
    """The hash of each row's owner; a batch has few subjects."""
    subjects = rows[table.subject_column].dictionary_encode()
    by_subject = np.array(
        [
            [owner_hash(kind, subject, trusted) for trusted in (False, True)]
            for subject in subjects.dictionary.to_pylist()
        ],
        np.uint64,
    ).reshape(-1, 2)
    trusted = rows[TRUSTED].to_numpy(zero_copy_only=False).astype(np.intp)
    owners: Ids = by_subject[subjects.indices.to_numpy(), trusted]
    return owners


def _may_lack_hashes(table: LakeTable, path: str) -> bool:
    """Whether it is a merged file of a past day, by its path and the statistics of its footer."""
    day = path.partition("day=")[2][:10]
    if day >= f"{datetime.fromtimestamp((now_ms() + CLOCK_SLACK_MS) / 1000, UTC):%Y-%m-%d}":
        return False
    with table.store.filesystem().open_input_file(path) as opened:
        metadata = pq.read_metadata(opened)
    index = metadata.schema.names.index(EVENT_HASH) if EVENT_HASH in metadata.schema.names else None
    if index is None:
        return False
    groups = (metadata.row_group(n).column(index) for n in range(metadata.num_row_groups))
    return any(
        group.statistics is None
        or not group.statistics.has_null_count
        or group.statistics.null_count
        for group in groups
    )
