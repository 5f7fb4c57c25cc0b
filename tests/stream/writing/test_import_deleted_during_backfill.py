"""An undoing that meets a worker: received = stored + duplicate + quarantined + dropped, always."""

from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.kinds import IMPORTED_EVENT
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.enrich.backfill_pipeline import BACKFILL_PIPELINE
from stream.enrich.pipeline import EnrichmentStep
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.import_deletion import seal_import
from stream.rows.row_batch import RowBatch
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable
from stream.writing.backfill_writer import DELETED_IMPORT, BackfillWriter
from tests.stream.builders import a_message, an_envelope, rows, settings
from tests.stream.writing.test_backfill_writer import ledger, lines, stored
from tests.stream.writing.test_exactly_once import STEPS, PowerCut

SUMS = ("received", "stored", "duplicate", "quarantined", "dropped")

BATCH = [
    a_message(0, lines(1, 2), lines(1, 1, "i2")),
    a_message(1, lines(1, 4)),  # two that came before, a good one, and one that no step can stand
    a_message(2, lines(5, 5), an_envelope([{"name": 7}], import_id="i1")),
]
LATER = a_message(3, lines(5, 6), lines(2, 2, "i2"))


def put_trouble(rows: RowBatch, _: Lookups) -> None:
    if "e4" in rows.item_field("name"):
        raise ValueError("no such thing")


TROUBLED = (*BACKFILL_PIPELINE, EnrichmentStep(put_trouble))


class Troubled(BackfillWriter):
    """Its line fails on the fourth line of a file."""

    pipeline = TROUBLED


def a_worker(folder: Path, between: Callable[[str], None] = lambda step: None) -> BackfillWriter:
    return Troubled(settings(folder), IMPORTED_EVENT, Lookups(), between)


def dying(after: str) -> Callable[[str], None]:
    def between(step: str) -> None:
        if step == after:
            raise PowerCut(step)

    return between


def closing(folder: Path, at: str, import_id: str = "i1") -> Callable[[str], None]:
    def between(step: str) -> None:
        if step == at:
            seal_import(LakeTable(settings(folder), EVENTS), import_id)

    return between


def sums(folder: Path) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip(*rows(settings(folder), LEDGER, *SUMS), strict=True))


@pytest.mark.parametrize("killed", STEPS)
@pytest.mark.parametrize("closed", STEPS[:-1])
def test_what_the_undoing_kept_out_is_dropped_in_the_ledger_whatever_is_killed(
    tmp_path: Path, closed: str, killed: str
) -> None:
    with pytest.raises(Fenced):
        a_worker(tmp_path, closing(tmp_path, closed)).write(BATCH)
    with pytest.raises(PowerCut):
        a_worker(tmp_path, dying(killed)).write(BATCH[:2])  # batches may be cut in another way
    a_worker(tmp_path).write(BATCH[:1])
    a_worker(tmp_path).write([*BATCH[1:], LATER])

    assert stored(tmp_path) == ["e1", "e2"]  # of the import beside it
    assert rows(settings(tmp_path), QUARANTINE, "kafka_offset", "stage") == [
        (1, "enrich"),
        (2, "decode"),
    ]
    assert sums(tmp_path) == (12, 2, 3, 2, 5)


def test_what_the_table_took_before_the_undoing_stays_stored_in_the_ledger(tmp_path: Path) -> None:
    a_worker(tmp_path, closing(tmp_path, "commit")).write(BATCH)
    a_worker(tmp_path).write([*BATCH, LATER])

    assert stored(tmp_path) == ["e1", "e1", "e2", "e2", "e3", "e5"]
    assert sums(tmp_path) == (12, 6, 3, 2, 1)


@pytest.mark.parametrize("killed", STEPS)
def test_imports_that_are_undone_one_after_the_other_are_both_taken_back(
    tmp_path: Path, killed: str
) -> None:
    with pytest.raises(Fenced):
        a_worker(tmp_path, closing(tmp_path, "write")).write(BATCH)
    with pytest.raises(Fenced):
        a_worker(tmp_path, closing(tmp_path, "write", "i2")).write(BATCH)
    with pytest.raises(PowerCut):
        a_worker(tmp_path, dying(killed)).write(BATCH)
    a_worker(tmp_path).write([*BATCH, LATER])

    assert stored(tmp_path) == []
    assert sums(tmp_path) == (12, 0, 3, 2, 7)


def test_what_is_taken_back_has_a_row_with_its_reason_and_only_one(tmp_path: Path) -> None:
    with pytest.raises(Fenced):
        a_worker(tmp_path, closing(tmp_path, "write")).write([a_message(0, lines(1, 2))])
    with pytest.raises(PowerCut):
        a_worker(tmp_path, dying("ledger")).write([a_message(0, lines(1, 2))])
    a_worker(tmp_path).write([a_message(0, lines(1, 2))])
    a_worker(tmp_path).write([a_message(0, lines(1, 2)), a_message(1, lines(3, 3))])

    assert ledger(tmp_path) == [
        (0, 0, -2, 0, 2, DELETED_IMPORT),
        (0, 2, 2, 0, 0, None),
        (1, 1, 0, 0, 1, DELETED_IMPORT),
    ]
