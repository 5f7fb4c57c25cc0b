"""Re-enriches rows stored under older rules, one day per commit; resumable.

A day is replaced in one version, so a query sees all its rows by the old rules or all by the new
ones. After a kill a new run continues: rows with the present `rules_version` are skipped.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from schemas.kinds import KINDS, Kind
from schemas.lake.delta_table import open_table
from schemas.runtime.settings import Settings
from stream.enrich.re_enrichment_pipeline import re_enrich_rows
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.rules_version import RULES_VERSION
from stream.maintenance.merge_plan import LiveDataFile, live_data_files
from stream.maintenance.rewrite import read_batches, rewrite_files
from stream.maintenance.verification import verified_files
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable

CHUNK_ROWS = 20_000
MAX_EXAMPLES = 3
MAX_ATTEMPTS = 5
RULES_COLUMN = "rules_version"

Example = tuple[str, str, int]
"""Old value, new value, rows."""


class ReEnrichmentOptions(Struct, frozen=True):
    """Which rows to re-enrich: days of receipt, both included."""

    first: date
    last: date
    website: str | None = None
    dry_run: bool = False


class ReEnrichedDay(Struct, frozen=True):
    """The result for one day of one table."""

    table: str
    day: date
    rows: int
    """Rows that older rules had enriched."""
    changes: "ColumnChanges"


class ColumnChanges(Struct):
    """Old and new values by column, with their number of rows."""

    values: dict[str, Counter[tuple[str, str]]] = {}

    def record(self, column: str, before: list[object], after: list[object]) -> None:
        changes = self.values.setdefault(column, Counter())
        changes.update((str(old), str(new)) for old, new in zip(before, after, strict=True))

    def add(self, other: "ColumnChanges") -> None:
        for column, changes in other.values.items():
            self.values.setdefault(column, Counter()).update(changes)

    def rows(self, column: str) -> int:
        return sum(self.values[column].values())

    def examples(self, column: str, limit: int = MAX_EXAMPLES) -> list[Example]:
        """The changes with the most rows."""
        common = self.values[column].most_common()
        ordered = sorted(common, key=lambda change: (-change[1], change[0]))
        return [(before, after, rows) for (before, after), rows in ordered[:limit]]


class ReEnricher:
    """Re-enriches rows of older rules and records the changes."""

    def __init__(self, kind: Kind, lookups: Lookups, website: str | None) -> None:
        self._kind = kind
        self._lookups = lookups
        self._website = website
        self.changes = ColumnChanges()
        self.rows = 0

    def __call__(self, stored: pa.Table) -> pa.Table:
        chunks = [
            self._re_enrich_chunk(stored.slice(start, CHUNK_ROWS))
            for start in range(0, stored.num_rows, CHUNK_ROWS)
        ]
        return pa.concat_tables(chunks)

    def needs_re_enrichment(self, rows: pa.Table) -> pa.Array:
        """A mask of the rows that older rules enriched, of the selected website."""
        outdated = pc.fill_null(pc.not_equal(rows[RULES_COLUMN], RULES_VERSION), True)
        if self._website is not None:
            outdated = pc.and_(
                outdated, pc.equal(rows[self._kind.table.subject_column], self._website)
            )
        return outdated.combine_chunks() if isinstance(outdated, pa.ChunkedArray) else outdated

    def _re_enrich_chunk(self, stored: pa.Table) -> pa.Table:
        mask = self.needs_re_enrichment(stored)
        old = stored.filter(mask)
        if not old.num_rows:
            return stored
        self.rows += old.num_rows
        new = re_enrich_rows(self._kind, old, self._lookups)
        for name in new.column_names:
            self._record(name, old[name], new[name])
            index = stored.schema.get_field_index(name)
            column = pc.replace_with_mask(
                stored[name].combine_chunks(), mask, new[name].combine_chunks()
            )
            stored = stored.set_column(index, stored.schema.field(name), column)
        return stored

    def _record(self, name: str, before: pa.ChunkedArray, after: pa.ChunkedArray) -> None:
        if name == RULES_COLUMN:
            return
        differs = pc.or_(
            pc.fill_null(pc.not_equal(before, after), False),
            pc.not_equal(pc.is_null(before), pc.is_null(after)),
        )
        if pc.any(differs).as_py():
            self.changes.record(
                name, before.filter(differs).to_pylist(), after.filter(differs).to_pylist()
            )


def re_enrich(
    settings: Settings,
    lookups: Lookups,
    options: ReEnrichmentOptions,
    report_rows: Callable[[int], None] = lambda rows: None,  # noqa: ARG005
) -> Iterator[ReEnrichedDay]:
    """Re-enrich each day of each table that has rows of older rules; yields each finished day."""
    for kind in KINDS:
        if RULES_COLUMN not in {c.name for c in kind.table.columns}:
            continue
        if open_table(settings.lake_url, kind.table) is None:
            continue
        yield from _re_enrich_table(
            LakeTable(settings, kind.table), kind, lookups, options, report_rows
        )


def _re_enrich_table(
    table: LakeTable,
    kind: Kind,
    lookups: Lookups,
    options: ReEnrichmentOptions,
    report_rows: Callable[[int], None],
) -> Iterator[ReEnrichedDay]:
    for day in _selected_days(table, options):
        for attempt in range(MAX_ATTEMPTS):
            re_enricher = ReEnricher(kind, lookups, options.website)
            data_files = _outdated_files(table, day, re_enricher)
            try:
                if options.dry_run:
                    _preview(table, data_files, re_enricher, report_rows)
                else:
                    rewrite_files(table, data_files, re_enricher, report_rows)
                break
            except Fenced:  # a compaction replaced files of that day meanwhile
                if attempt == MAX_ATTEMPTS - 1:
                    raise
        if re_enricher.rows:
            yield ReEnrichedDay(table.table.name, day, re_enricher.rows, re_enricher.changes)


def _preview(
    table: LakeTable,
    data_files: Sequence[LiveDataFile],
    re_enricher: ReEnricher,
    report_rows: Callable[[int], None],
) -> None:
    for data_file in data_files:
        with verified_files(table, [data_file]) as (file,):
            for rows in read_batches(table.table, file):
                re_enricher(rows)
                report_rows(rows.num_rows)


def _selected_days(table: LakeTable, options: ReEnrichmentOptions) -> list[date]:
    table.refresh()
    days = groupby(live_data_files(table.handle, table.table), key=lambda data_file: data_file.day)
    return [day for day, _ in days if options.first <= day <= options.last]


def _outdated_files(table: LakeTable, day: date, re_enricher: ReEnricher) -> list[LiveDataFile]:
    """The data files of a day that have rows of older rules."""
    table.refresh()
    of_day = [
        data_file
        for data_file in live_data_files(table.handle, table.table)
        if data_file.day == day
    ]
    return [data_file for data_file in of_day if _has_outdated_rows(table, data_file, re_enricher)]


def _has_outdated_rows(table: LakeTable, data_file: LiveDataFile, re_enricher: ReEnricher) -> bool:
    names = [RULES_COLUMN, table.table.subject_column]
    with verified_files(table, [data_file]) as (file,):
        rows = pq.read_table(file, columns=names)
    return bool(pc.any(re_enricher.needs_re_enrichment(rows)).as_py())
