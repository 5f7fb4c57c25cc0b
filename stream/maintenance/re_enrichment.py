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
from stream.enrich.re_enrichment_pipeline import enriched_again
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.rule_version import VERSION
from stream.maintenance.merge_plan import Piece, pieces
from stream.maintenance.rewrite import batches, rewrite
from stream.maintenance.verification import verified
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable

ROWS = 20_000
EXAMPLES = 3
TRIES = 5
RULES = "rules_version"

Example = tuple[str, str, int]
"""Old value, new value, rows."""


class Asked(Struct, frozen=True):
    """Which rows are to be enriched again: days of receipt, both included."""

    first: date
    last: date
    website: str | None = None
    dry_run: bool = False


class Done(Struct, frozen=True):
    """What one day of one table came to."""

    table: str
    day: date
    rows: int
    """Rows of other rules."""
    changes: "Changes"


class Changes(Struct):
    """By column: what became what."""

    values: dict[str, Counter[tuple[str, str]]] = {}

    def note(self, column: str, before: list[object], after: list[object]) -> None:
        found = self.values.setdefault(column, Counter())
        found.update((str(b), str(a)) for b, a in zip(before, after, strict=True))

    def add(self, others: "Changes") -> None:
        for column, found in others.values.items():
            self.values.setdefault(column, Counter()).update(found)

    def rows(self, column: str) -> int:
        return sum(self.values[column].values())

    def examples(self, column: str, most: int = EXAMPLES) -> list[Example]:
        """The changes that most rows have."""
        common = self.values[column].most_common()
        ordered = sorted(common, key=lambda change: (-change[1], change[0]))
        return [(before, after, rows) for (before, after), rows in ordered[:most]]


class Again:
    """Makes rows of other rules into rows of the present ones, and notes what changes."""

    def __init__(self, kind: Kind, lookups: Lookups, website: str | None) -> None:
        self._kind = kind
        self._lookups = lookups
        self._website = website
        self.changes = Changes()
        self.rows = 0

    def __call__(self, stored: pa.Table) -> pa.Table:
        made = [self._some(stored.slice(at, ROWS)) for at in range(0, stored.num_rows, ROWS)]
        return pa.concat_tables(made)

    def outdated(self, rows: pa.Table) -> pa.Array:
        """Which rows other rules enriched, of the website that is asked for."""
        others = pc.fill_null(pc.not_equal(rows[RULES], VERSION), True)
        if self._website is not None:
            others = pc.and_(others, pc.equal(rows[self._kind.table.subject], self._website))
        return others.combine_chunks() if isinstance(others, pa.ChunkedArray) else others

    def _some(self, stored: pa.Table) -> pa.Table:
        mask = self.outdated(stored)
        old = stored.filter(mask)
        if not old.num_rows:
            return stored
        self.rows += old.num_rows
        new = enriched_again(self._kind, old, self._lookups)
        for name in new.column_names:
            self._note(name, old[name], new[name])
            place = stored.schema.get_field_index(name)
            column = pc.replace_with_mask(
                stored[name].combine_chunks(), mask, new[name].combine_chunks()
            )
            stored = stored.set_column(place, stored.schema.field(name), column)
        return stored

    def _note(self, name: str, before: pa.ChunkedArray, after: pa.ChunkedArray) -> None:
        if name == RULES:
            return
        differs = pc.or_(
            pc.fill_null(pc.not_equal(before, after), False),
            pc.not_equal(pc.is_null(before), pc.is_null(after)),
        )
        if pc.any(differs).as_py():
            self.changes.note(
                name, before.filter(differs).to_pylist(), after.filter(differs).to_pylist()
            )


def reenrich(
    settings: Settings,
    lookups: Lookups,
    asked: Asked,
    tell: Callable[[int], None] = lambda rows: None,  # noqa: ARG005
) -> Iterator[Done]:
    """Each day of each table that has rows of other rules, once it is done."""
    for kind in KINDS:
        if RULES not in {c.name for c in kind.table.columns}:
            continue
        if open_table(settings.lake_url, kind.table) is None:
            continue
        yield from _table(LakeTable(settings, kind.table), kind, lookups, asked, tell)


def _table(
    table: LakeTable, kind: Kind, lookups: Lookups, asked: Asked, tell: Callable[[int], None]
) -> Iterator[Done]:
    for day in _days(table, asked):
        for attempt in range(TRIES):
            again = Again(kind, lookups, asked.website)
            chosen = _chosen(table, day, again)
            try:
                if asked.dry_run:
                    _look(table, chosen, again, tell)
                else:
                    rewrite(table, chosen, again, tell)
                break
            except Fenced:  # the keeper joined parts of that day meanwhile
                if attempt == TRIES - 1:
                    raise
        if again.rows:
            yield Done(table.table.name, day, again.rows, again.changes)


def _look(
    table: LakeTable, chosen: Sequence[Piece], again: Again, tell: Callable[[int], None]
) -> None:
    for piece in chosen:
        with verified(table, [piece]) as (file,):
            for rows in batches(table.table, file):
                again(rows)
                tell(rows.num_rows)


def _days(table: LakeTable, asked: Asked) -> list[date]:
    table.refresh()
    days = groupby(pieces(table.handle, table.table), key=lambda piece: piece.day)
    return [day for day, _ in days if asked.first <= day <= asked.last]


def _chosen(table: LakeTable, day: date, again: Again) -> list[Piece]:
    """The parts of a day that hold rows of other rules."""
    table.refresh()
    of_day = [piece for piece in pieces(table.handle, table.table) if piece.day == day]
    return [piece for piece in of_day if _holds(table, piece, again)]


def _holds(table: LakeTable, piece: Piece, again: Again) -> bool:
    names = [RULES, table.table.subject]
    with verified(table, [piece]) as (file,):
        rows = pq.read_table(file, columns=names)
    return bool(pc.any(again.outdated(rows)).as_py())
