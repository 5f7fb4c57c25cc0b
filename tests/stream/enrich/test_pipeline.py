"""The pipeline: its order, its columns, and steps that fail on a row."""

from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from schemas.kinds import (
    KINDS,
    Kind,
)
from stream.enrich.pipeline import (
    BACKFILL_PIPELINE,
    PIPELINE,
    Pipeline,
    StepOrderError,
    build_pipeline,
    enrich_rows,
    run_pipeline,
)
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import EnrichmentStep
from stream.enrich.steps.form import put_form
from stream.enrich.steps.identity_hashes import put_identity_hashes
from stream.enrich.steps.referrer import put_referrer
from stream.rows.arrow_tables import arrow_table
from stream.rows.facts import Facts
from stream.rows.row_batch import KEY_COLUMNS
from tests.stream.enrich.enriched_rows import rows_of

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
VIEW = {"name": "screen_view"}
LEAST_ITEM: dict[str, dict[str, Any]] = {
    "custom_event": {"name": "x"},
    "web_vitals": {"path": "/", "metricName": "CLS", "metricValue": 0.1},
    "error": {"message": "boom"},
    "click": {"slug": "abc"},
    "engagement": {"path": "/cart"},
    "identity": {"profileId": "p1"},
}
"""An item of each kind with the required fields only."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_pipeline_fills_every_column_of_every_kind(kind: Kind) -> None:
    rows = rows_of(kind, [LEAST_ITEM[kind.name]])

    run_pipeline(rows, Lookups())

    own = {column.name for column in kind.table.columns} - {"day", "epoch"}
    assert own <= set(rows.columns)
    assert arrow_table(kind.table, rows.columns).num_rows == 1


def test_every_step_describes_itself_in_one_line() -> None:
    assert [step.name for step in PIPELINE if not step.description.endswith(".")] == []


def test_a_step_before_the_one_whose_facts_it_reads_is_refused() -> None:
    with pytest.raises(StepOrderError, match="put_referrer reads page, page_properties"):
        build_pipeline(*sorted(PIPELINE, key=lambda step: step is not put_referrer))
    with pytest.raises(StepOrderError, match=r"put_channel reads columns\.referrer_type"):
        build_pipeline(*(step for step in PIPELINE if step is not put_referrer))
    with pytest.raises(StepOrderError, match="put_form: Facts has no field 'pages'"):
        build_pipeline(EnrichmentStep(put_form.run, writes=("pages",)))


class Recorded(dict[str, Any]):
    """Columns that note which of them are read and written."""

    def __init__(self, columns: dict[str, Any]) -> None:
        super().__init__(columns)
        self.read: set[str] = set()
        self.written: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __setitem__(self, name: str, value: Any) -> None:
        self.written.add(name)
        super().__setitem__(name, value)


class RecordedFacts(Facts):
    """Facts that note which of them are read and written."""

    read: ClassVar[set[str]] = set()
    written: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        if name in Facts.__struct_fields__:
            self.read.add(name)
        return super().__getattribute__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Facts.__struct_fields__:
            self.written.add(name)
        super().__setattr__(name, value)


@pytest.mark.parametrize("pipeline", [PIPELINE, BACKFILL_PIPELINE], ids=["live", "backfill"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_step_declares_all_that_it_reads(kind: Kind, pipeline: Pipeline) -> None:
    rows = rows_of(kind, [LEAST_ITEM[kind.name]])
    rows.columns = columns = Recorded(rows.columns)
    rows.facts = facts = RecordedFacts()

    for step in pipeline:
        for record in (columns.read, columns.written, facts.read, facts.written):
            record.clear()
        step.run(rows, Lookups())

        from_others = columns.read - columns.written - set(KEY_COLUMNS)
        if step is put_identity_hashes:  # fills it where the item has none
            from_others |= columns.read & {"anonymous_id"}
        assert {f"columns.{name}" for name in from_others} <= set(step.reads), step.name
        assert facts.read - facts.written <= set(step.reads), step.name
        assert facts.written <= set(step.writes), step.name


def test_a_step_that_fails_on_one_row_costs_that_row_only() -> None:
    def fail_on_line_4(rows: Any, lookups: Lookups) -> None:
        if any(item.name == "bad" for item in rows.items):
            raise ValueError("no such thing")

    rows = rows_of(KINDS[0], [{"name": "a"}, {"name": "bad"}, {"name": "c"}])

    rest, refused = enrich_rows(rows, Lookups(), (*PIPELINE, EnrichmentStep(fail_on_line_4)))

    assert rest.columns["name"] == ["a", "c"]
    assert [(q.seq, q.stage.value, q.reason) for q in refused] == [
        (1, "enrich", "ValueError: no such thing")
    ]
