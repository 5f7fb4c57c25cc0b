"""An import deleted while a worker stores it: the ledger always adds up."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from schemas.kinds import IMPORTED_EVENT
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from schemas.telemetry.instruments import REGISTRY
from stream.enrich.pipeline import BACKFILL_PIPELINE
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import EnrichmentStep
from stream.maintenance.import_deletion import seal_import
from stream.rows.row_batch import RowBatch
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable
from stream.writing.backfill_writer import BACKFILL_WRITER, DELETED_IMPORT
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, an_envelope, rows, settings
from tests.stream.writing.test_backfill_writer import ledger, lines, stored
from tests.stream.writing.test_exactly_once import STEPS, PowerCut

SUMS = ("received", "stored", "duplicate", "quarantined", "dropped")

BATCH = [
    a_message(0, lines(1, 2), lines(1, 1, "i2")),
    a_message(1, lines(1, 4)),  # two duplicates, a good line, and one that a step fails on
    a_message(2, lines(5, 5), an_envelope([{"name": 7}], import_id="i1")),
]
LATER = a_message(3, lines(5, 6), lines(2, 2, "i2"))


def fail_on_line_4(rows: RowBatch, _: Lookups) -> None:
    if "e4" in rows.item_field("name"):
        raise ValueError("no such thing")


FAILING_WRITER = structs.replace(
    BACKFILL_WRITER, pipeline=(*BACKFILL_PIPELINE, EnrichmentStep(fail_on_line_4))
)


def a_worker(folder: Path, on_step: Callable[[str], None] = lambda step: None) -> BatchWriter:
    return BatchWriter(settings(folder), IMPORTED_EVENT, Lookups(), on_step, role=FAILING_WRITER)


def crash_after(after: str) -> Callable[[str], None]:
    def on_step(step: str) -> None:
        if step == after:
            raise PowerCut(step)

    return on_step


def seal_after(folder: Path, at: str, import_id: str = "i1") -> Callable[[str], None]:
    def on_step(step: str) -> None:
        if step == at:
            seal_import(LakeTable(settings(folder), EVENTS), import_id)

    return on_step


def sums(folder: Path) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip(*rows(settings(folder), LEDGER, *SUMS), strict=True))


@pytest.mark.parametrize("crash_step", STEPS)
@pytest.mark.parametrize("seal_step", STEPS[:-1])
def test_items_kept_out_by_the_deletion_are_dropped_in_the_ledger_after_any_crash(
    tmp_path: Path, seal_step: str, crash_step: str
) -> None:
    with pytest.raises(Fenced):
        a_worker(tmp_path, seal_after(tmp_path, seal_step)).write(BATCH)
    with pytest.raises(PowerCut):
        a_worker(tmp_path, crash_after(crash_step)).write(
            BATCH[:2]
        )  # batches may be split differently
    a_worker(tmp_path).write(BATCH[:1])
    a_worker(tmp_path).write([*BATCH[1:], LATER])

    assert stored(tmp_path) == ["e1", "e2"]  # of the import beside it
    assert rows(settings(tmp_path), QUARANTINE, "kafka_offset", "stage") == [
        (1, "enrich"),
        (2, "decode"),
    ]
    assert sums(tmp_path) == (12, 2, 3, 2, 5)


def test_rows_committed_before_the_deletion_stay_stored_in_the_ledger(tmp_path: Path) -> None:
    a_worker(tmp_path, seal_after(tmp_path, "commit")).write(BATCH)
    a_worker(tmp_path).write([*BATCH, LATER])

    assert stored(tmp_path) == ["e1", "e1", "e2", "e2", "e3", "e5"]
    assert sums(tmp_path) == (12, 6, 3, 2, 1)


@pytest.mark.parametrize("crash_step", STEPS)
def test_two_imports_deleted_one_after_the_other_are_both_corrected(
    tmp_path: Path, crash_step: str
) -> None:
    with pytest.raises(Fenced):
        a_worker(tmp_path, seal_after(tmp_path, "write")).write(BATCH)
    with pytest.raises(Fenced):
        a_worker(tmp_path, seal_after(tmp_path, "write", "i2")).write(BATCH)
    with pytest.raises(PowerCut):
        a_worker(tmp_path, crash_after(crash_step)).write(BATCH)
    a_worker(tmp_path).write([*BATCH, LATER])

    assert stored(tmp_path) == []
    assert sums(tmp_path) == (12, 0, 3, 2, 7)


def test_a_correction_is_one_row_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(Fenced):
        a_worker(tmp_path, seal_after(tmp_path, "write")).write([a_message(0, lines(1, 2))])
    with pytest.raises(PowerCut):
        a_worker(tmp_path, crash_after("ledger")).write([a_message(0, lines(1, 2))])
    a_worker(tmp_path).write([a_message(0, lines(1, 2))])
    dropped = REGISTRY.get_sample_value("tidemark_dropped_items_total", {"reason": DELETED_IMPORT})
    assert dropped is not None
    assert dropped >= 2
    a_worker(tmp_path).write([a_message(0, lines(1, 2)), a_message(1, lines(3, 3))])

    assert ledger(tmp_path) == [
        (0, 0, -2, 0, 2, DELETED_IMPORT),
        (0, 2, 2, 0, 0, None),
        (1, 1, 0, 0, 1, DELETED_IMPORT),
    ]
