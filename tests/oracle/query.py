"""StandardQuery, and ScopedRows: the rows that its oracle may read."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cached_property, partial
from typing import Any

from msgspec import Struct, structs

from schemas.kinds import TABLES
from tests.oracle import wall_clock
from tests.oracle.behaviors import names_visitors, with_visitors
from tests.oracle.filters import FilterJson, all_hold, fields_of
from tests.oracle.message_pattern import pattern_of
from tests.oracle.path_facts import PATH_FACTS, with_path_facts
from tests.oracle.profiles import PROFILE, TRAIT, Profiles, merged
from tests.oracle.profiles import TABLES as TABLES_WITH_VISITORS
from tests.oracle.stored_rows import Row, RowsByTable
from tests.oracle.visitor_times import VISITOR_NAMES, VisitorTimes
from tests.oracle.visits import (
    EVENT_NAMES,
    VISIT_NAMES,
    Visits,
    days_around,
    is_about_visits,
    read_as,
)
from tests.oracle.visits import TABLES as TABLES_WITH_VISITS
from tests.oracle.wall_clock import Bucket

FAR_MS = 4_102_444_800_000
NAMES = {
    table.name: {column.name for column in table.columns}
    | (VISIT_NAMES if table.name in TABLES_WITH_VISITS else frozenset())
    | (PATH_FACTS if any(column.name == "path" for column in table.columns) else frozenset())
    | (EVENT_NAMES if table.name == "events" else frozenset())
    | ({"message_pattern"} if table.name == "errors" else frozenset())
    | ({PROFILE, TRAIT, *VISITOR_NAMES} if table.name in TABLES_WITH_VISITORS else frozenset())
    for table in TABLES
}
"""Facts that filters may name."""
OF_ONE_VISITOR = ("profile_detail", "profile_sessions", "visitor_timeline")
"""Facts of one visitor, or of a person when the filters name a profile."""


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
    """Options of types."""
    order_by: Sequence[Mapping[str, Any]] = ()
    compare: str | None = None
    person: str = "device"

    @property
    def together(self) -> bool:
        """Whether the devices of a profile are one visitor."""
        names_profile = any(each.get("field") == PROFILE for each in self.filters)
        return self.person == "profile" or (self.name in OF_ONE_VISITOR and names_profile)


class ScopedRows:
    """The rows of one subject inside one span, and its calendar."""

    def __init__(self, held: RowsByTable, query: StandardQuery) -> None:
        self.query = query
        self._held = held
        self.start_ms, self.end_ms = wall_clock.bounds(query.start, query.end, query.zone)
        self.new_from_ms = self.start_ms

    @cached_property
    def events(self) -> list[Row]:
        return self.rows("events")

    @cached_property
    def visit_events(self) -> list[Row]:
        """All events of the visits that have an event which the filters keep."""
        kept = {row["session_id"] for row in self.events} - {None}
        rows = self._rows("events", [each for each in self._filters if is_about_visits(each)])
        return [row for row in rows if row["session_id"] in kept]

    @cached_property
    def errors(self) -> list[Row]:
        return self.rows("errors")

    @cached_property
    def vitals(self) -> list[Row]:
        return self.rows("vitals")

    @cached_property
    def clicks(self) -> list[Row]:
        return self.rows("clicks")

    def totals(self) -> list[Row]:
        """Imported totals of the subject, of any day."""
        subjects = self.query.subject.split(",")
        held = [row for row in self._held["imported_totals"] if row["website_id"] in subjects]
        return [row for row in held if all_hold(row, self.query.filters)]

    def between(self, start_ms: int, end_ms: int) -> "ScopedRows":
        """The same question about another span."""
        other = ScopedRows(self._held, self.query)
        other.start_ms, other.end_ms = start_ms, end_ms
        other.new_from_ms = start_ms
        return other

    def read_from(self, start_ms: int) -> "ScopedRows":
        """Rows from an earlier instant on; what visitors did counts in the time range itself."""
        other = self.between(start_ms, self.end_ms)
        other.new_from_ms = self.new_from_ms
        other.__dict__["_filters"] = self._filters
        return other

    @cached_property
    def with_bots(self) -> "ScopedRows":
        """The same question with the rows of bots."""
        other = self.between(self.start_ms, self.end_ms)
        other.query = structs.replace(self.query, include_bots=True)
        return other

    def rows(self, table: str, filtered: bool = True) -> list[Row]:
        """Rows of the subject in the time range, each with the facts of its visit.

        A filter on a column that the table does not have is ignored.
        """
        filters = self.query.filters if table == "clicks" else self._filters
        known = [each for each in filters if fields_of(each) <= NAMES[table]]
        return self._rows(table, known if filtered else [])

    def of_visitors(self, table: str) -> list[Row]:
        """Rows of a table without filters but those on what visitors did."""
        kept = [each for each in self._filters if is_about_visits(each) and names_visitors(each)]
        return self._rows(table, kept)

    @cached_property
    def _filters(self) -> list[FilterJson]:
        return self.resolved(self.query.filters)

    def resolved(self, filters: Sequence[FilterJson]) -> list[FilterJson]:
        """The filters with full names, and behaviors replaced by visitors."""
        return [read_as(with_visitors(each, self.events_within)) for each in filters]

    def events_within(self, within: str) -> list[Row]:
        """The events of the time range, or all of them (`ever`), whatever the filters."""
        if within == "ever":
            ever = self.between(0, FAR_MS)
            ever.new_from_ms = self.new_from_ms
            return ever._rows("events", ())
        return self._rows("events", ())

    def _rows(self, table: str, filters: Sequence[FilterJson]) -> list[Row]:
        matching = [row for row in self._unfiltered(table) if all_hold(row, filters)]
        return [merged(row) for row in matching] if table in TABLES_WITH_VISITORS else matching

    def _unfiltered(self, table: str) -> list[Row]:
        query, span = self.query, (self.start_ms, self.end_ms, self.new_from_ms)
        scope = (table, query.subject, query.include_bots, query.together, *span)
        return self._held.with_facts(scope, partial(self._with_facts, table))

    def _with_facts(self, table: str) -> list[Row]:
        stored = self._stored(table, self.start_ms, self.end_ms)
        if table == "errors":
            stored = [{**row, "message_pattern": pattern_of(row["message"])} for row in stored]
        of_visits = (self._visits.told(with_path_facts(row), table) for row in stored)
        if table not in TABLES_WITH_VISITORS:
            return list(of_visits)
        of_visitors = (self._profiles.told(row, self.query.together) for row in of_visits)
        return [self._visitor_times.told(row, self.new_from_ms) for row in of_visitors]

    @cached_property
    def _profiles(self) -> Profiles:
        """Whenever they were sent."""
        return Profiles(self._stored("identities", 0, FAR_MS))

    @cached_property
    def _visitor_times(self) -> VisitorTimes:
        """Values from all events, whatever the time range and the filters."""
        events = self._stored("events", 0, FAR_MS)
        return VisitorTimes([self._profiles.told(row, self.query.together) for row in events])

    @cached_property
    def _visits(self) -> Visits:
        """A fact may come from a page view a day before or after, up to midnight in UTC."""
        return Visits(self._stored("events", *days_around(self.start_ms, self.end_ms)))

    def _stored(self, table: str, start_ms: int, end_ms: int) -> list[Row]:
        """Bots only when the query includes them."""
        subject = "link_id" if table == "clicks" else "website_id"
        return [
            row
            for row in self._held[table]
            if row[subject] in self.query.subject.split(",")
            and start_ms <= row["ms"] < end_ms
            and (self.query.include_bots or row["is_bot"] is not True)
        ]

    def bucket(self, row: Row) -> Bucket:
        """The bucket that the row is in."""
        return wall_clock.bucket(row["ms"], self.query.zone, self.query.granularity)

    @cached_property
    def points(self) -> list[Bucket]:
        query = self.query
        return wall_clock.points(self.start_ms, self.end_ms, query.zone, query.granularity)
