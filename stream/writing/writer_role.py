"""Writer role: what differs between storing live items and storing imported ones.

There is one batch writer. It is given its role as a value, so that the order of its commits, which
crash safety depends on, is the same for both and stands in one place.
"""

from collections.abc import Callable, Collection, Mapping

import pyarrow as pa
from msgspec import Struct

from schemas.lake.committed_offsets import app_id
from schemas.runtime.settings import Settings
from schemas.tables import Table
from stream.enrich.pipeline import PIPELINE, Pipeline
from stream.rows.ledger import LedgerCounts
from stream.rows.row_batch import RowBatch
from stream.state.table_state import STATE_COLUMNS
from stream.storage.delta_commit import LakeTable, OffsetUpdates
from stream.writing.ledger_repair import rebuild_ledger


class CommittedOffsets(Struct, frozen=True):
    """The next offsets of one topic in main table and ledger, as of their last refresh."""

    topic: str
    epoch: int
    main: LakeTable
    ledger: LakeTable

    def key(self, partition: int) -> str:
        """The application id under which a table keeps the next offset of a partition."""
        return app_id(self.epoch, self.topic, partition)

    def next_offset(self, partition: int) -> int:
        """The main table's next offset of a partition."""
        return self.main.next_offset(self.key(partition))


class SelectedRows(Struct, frozen=True):
    """The rows to enrich, and updates of import watermarks for the commit of the main table."""

    rows: RowBatch
    watermarks: OffsetUpdates = {}


def select_all(
    rows: RowBatch,
    offsets: CommittedOffsets,  # noqa: ARG001 - the signature of every role
    counts: LedgerCounts,  # noqa: ARG001
) -> SelectedRows:
    """All rows: duplicates of live items are found after enrichment, by their hashes."""
    return SelectedRows(rows)


def store_all(
    rows: pa.Table,
    offsets: CommittedOffsets,  # noqa: ARG001 - the signature of every role
    counts: LedgerCounts,  # noqa: ARG001
) -> pa.Table:
    """All rows, unchanged."""
    return rows


CatchUpLedger = Callable[[Settings, Table, LakeTable, str, int, Mapping[int, int]], None]
"""Settings, main table, ledger, topic, epoch, and the main table's next offset by partition."""


class WriterRole(Struct, frozen=True):
    """Steps of a batch writer that differ between live and imported items."""

    pipeline: Pipeline = PIPELINE
    state_columns: Collection[str] = STATE_COLUMNS
    """Columns that are computed from stored rows: deduplication and sessions."""
    of_imports: bool = False
    """Whether its rows are stored with negative partitions: the live topic has the others."""
    select_rows: Callable[[RowBatch, CommittedOffsets, LedgerCounts], SelectedRows] = select_all
    """Before enrichment: removes known duplicates and counts them."""
    finish_rows: Callable[[pa.Table, CommittedOffsets, LedgerCounts], pa.Table] = store_all
    """Before the commits: the rows as they are stored; those that it drops are counted."""
    catch_up_ledger: CatchUpLedger = rebuild_ledger
    """On assignment: what is done when the ledger is behind its table."""
    drop_reasons: Collection[str] = ()
    """Why rows may be dropped: the labels of their count."""


LIVE_WRITER = WriterRole()
