"""Stored rows of other rules walk the present line: looked at first, then swapped day by day.

A day's rows are swapped in one version, so a question sees it by the old rules or by the new ones.
Who is killed goes on: rows that have the present rules' version are not touched again.
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
    """Which rows are to be enriched again: days of receipt, both included."""

    first: date
    last: date
    website: str | None = None
    dry_run: bool = False


class ReEnrichedDay(Struct, frozen=True):
    """What one day of one table came to."""

    table: str
    day: date
    rows: int
    """Rows of other rules."""
    changes: "ColumnChanges"


class ColumnChanges(Struct):
    """By column: what became what."""

    values: dict[str, Counter[tuple[str, str]]] = {}

    def note(self, column: str, before: list[object], after: list[object]) -> None:
        found = self.values.setdefault(column, Counter())
        found.update((str(b), str(a)) for b, a in zip(before, after, strict=True))

    def add(self, others: "ColumnChanges") -> None:
        for column, found in others.values.items():
            self.values.setdefault(column, Counter()).update(found)

    def rows(self, column: str) -> int:
        return sum(self.values[column].values())

    def examples(self, column: str, most: int = MAX_EXAMPLES) -> list[Example]:
        """The changes that most rows have."""
        common = self.values[column].most_common()
        ordered = sorted(common, key=lambda change: (-change[1], change[0]))
        return [(before, after, rows) for (before, after), rows in ordered[:most]]


class ReEnricher:
    """Makes rows of other rules into rows of the present ones, and notes what changes."""

    def __init__(self, kind: Kind, lookups: Lookups, website: str | None) -> None:
        self._kind = kind
        self._lookups = lookups
        self._website = website
        self.changes = ColumnChanges()
        self.rows = 0

    def __call__(self, stored: pa.Table) -> pa.Table:
        made = [
            self._some(stored.slice(at, CHUNK_ROWS)) for at in range(0, stored.num_rows, CHUNK_ROWS)
        ]
        return pa.concat_tables(made)

    def needs_re_enrichment(self, rows: pa.Table) -> pa.Array:
        """Which rows other rules enriched, of the website that is asked for."""
        others = pc.fill_null(pc.not_equal(rows[RULES_COLUMN], RULES_VERSION), True)
        if self._website is not None:
            others = pc.and_(others, pc.equal(rows[self._kind.table.subject_column], self._website))
        return others.combine_chunks() if isinstance(others, pa.ChunkedArray) else others

    def _some(self, stored: pa.Table) -> pa.Table:
        mask = self.needs_re_enrichment(stored)
        old = stored.filter(mask)
        if not old.num_rows:
            return stored
        self.rows += old.num_rows
        new = re_enrich_rows(self._kind, old, self._lookups)
        for name in new.column_names:
            self._note(name, old[name], new[name])
            place = stored.schema.get_field_index(name)
            column = pc.replace_with_mask(
                stored[name].combine_chunks(), mask, new[name].combine_chunks()
            )
            stored = stored.set_column(place, stored.schema.field(name), column)
        return stored

    def _note(self, name: str, before: pa.ChunkedArray, after: pa.ChunkedArray) -> None:
        if name == RULES_COLUMN:
            return
        differs = pc.or_(
            pc.fill_null(pc.not_equal(before, after), False),
            pc.not_equal(pc.is_null(before), pc.is_null(after)),
        )
        if pc.any(differs).as_py():
            self.changes.note(
                name, before.filter(differs).to_pylist(), after.filter(differs).to_pylist()
            )


def re_enrich(
    settings: Settings,
    lookups: Lookups,
    asked: ReEnrichmentOptions,
    tell: Callable[[int], None] = lambda rows: None,  # noqa: ARG005
) -> Iterator[ReEnrichedDay]:
    """Each day of each table that has rows of other rules, once it is done."""
    for kind in KINDS:
        if RULES_COLUMN not in {c.name for c in kind.table.columns}:
            continue
        if open_table(settings.lake_url, kind.table) is None:
            continue
        yield from _re_enrich_table(LakeTable(settings, kind.table), kind, lookups, asked, tell)


def _re_enrich_table(
    table: LakeTable,
    kind: Kind,
    lookups: Lookups,
    asked: ReEnrichmentOptions,
    tell: Callable[[int], None],
) -> Iterator[ReEnrichedDay]:
    for day in _selected_days(table, asked):
        for attempt in range(MAX_ATTEMPTS):
            again = ReEnricher(kind, lookups, asked.website)
            chosen = _outdated_files(table, day, again)
            try:
                if asked.dry_run:
                    _preview(table, chosen, again, tell)
                else:
                    rewrite_files(table, chosen, again, tell)
                break
            except Fenced:  # the keeper joined parts of that day meanwhile
                if attempt == MAX_ATTEMPTS - 1:
                    raise
        if again.rows:
            yield ReEnrichedDay(table.table.name, day, again.rows, again.changes)


def _preview(
    table: LakeTable, chosen: Sequence[LiveDataFile], again: ReEnricher, tell: Callable[[int], None]
) -> None:
    for piece in chosen:
        with verified_files(table, [piece]) as (file,):
            for rows in read_batches(table.table, file):
                again(rows)
                tell(rows.num_rows)


def _selected_days(table: LakeTable, asked: ReEnrichmentOptions) -> list[date]:
    table.refresh()
    days = groupby(live_data_files(table.handle, table.table), key=lambda piece: piece.day)
    return [day for day, _ in days if asked.first <= day <= asked.last]


def _outdated_files(table: LakeTable, day: date, again: ReEnricher) -> list[LiveDataFile]:
    """The parts of a day that hold rows of other rules."""
    table.refresh()
    of_day = [piece for piece in live_data_files(table.handle, table.table) if piece.day == day]
    return [piece for piece in of_day if _has_outdated_rows(table, piece, again)]


def _has_outdated_rows(table: LakeTable, piece: LiveDataFile, again: ReEnricher) -> bool:
    names = [RULES_COLUMN, table.table.subject_column]
    with verified_files(table, [piece]) as (file,):
        rows = pq.read_table(file, columns=names)
    return bool(pc.any(again.needs_re_enrichment(rows)).as_py())
