"""StandardQuery, and ScopedRows: the rows that its oracle may read."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import Any

from msgspec import Struct

from schemas.kinds import TABLES
from tests.oracle import wall_clock
from tests.oracle.filters import FilterJson, all_hold, fields_of
from tests.oracle.stored_rows import Row, RowsByTable
from tests.oracle.wall_clock import Bucket

COLUMNS = {table.name: {column.name for column in table.columns} for table in TABLES}


class StandardQuery(Struct, frozen=True, kw_only=True):
    """One standard question, complete."""

    name: str
    start: date
    end: date
    subject: str = "shop"
    zone: str = "UTC"
    granularity: str = "daily"
    filters: Sequence[FilterJson] = ()
    include_bots: bool = False
    limit: int | None = None
    page: int = 1
    options: Mapping[str, Any] = {}
    """What some types take beside their name."""
    order_by: Sequence[Mapping[str, Any]] = ()
    compare: str | None = None


class ScopedRows:
    """The rows of one subject inside one span, and its calendar."""

    def __init__(self, held: RowsByTable, query: StandardQuery) -> None:
        self.query = query
        self._held = held
        self.start_ms, self.end_ms = wall_clock.bounds(query.start, query.end, query.zone)

    @cached_property
    def events(self) -> list[Row]:
        return self.rows("events")

    @cached_property
    def errors(self) -> list[Row]:
        return self.rows("errors")

    @cached_property
    def vitals(self) -> list[Row]:
        return self.rows("vitals")

    @cached_property
    def clicks(self) -> list[Row]:
        return self.rows("clicks")

    def between(self, start_ms: int, end_ms: int) -> "ScopedRows":
        """The same question about another span."""
        other = ScopedRows(self._held, self.query)
        other.start_ms, other.end_ms = start_ms, end_ms
        return other

    def rows(self, table: str, filtered: bool = True) -> list[Row]:
        """Rows of the subject in the time range; bots only when the query includes them.

        A filter on a column that the table does not have is ignored.
        """
        query = self.query
        known = [condition for condition in query.filters if fields_of(condition) <= COLUMNS[table]]
        subject = "link_id" if table == "clicks" else "website_id"
        return [
            row
            for row in self._held[table]
            if row[subject] == query.subject
            and self.start_ms <= row["ms"] < self.end_ms
            and (query.include_bots or row["is_bot"] is not True)
            and (not filtered or all_hold(row, known))
        ]

    def bucket(self, row: Row) -> Bucket:
        """The bucket that the row is in."""
        return wall_clock.bucket(row["ms"], self.query.zone, self.query.granularity)

    @cached_property
    def points(self) -> list[Bucket]:
        query = self.query
        return wall_clock.points(self.start_ms, self.end_ms, query.zone, query.granularity)
