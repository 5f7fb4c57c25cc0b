"""Oracle of custom queries: rows filtered, grouped, aggregated and sorted in plain Python."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from operator import itemgetter
from typing import Any

from msgspec import Struct

from tests.oracle.aggregates import ResultRow, grouped
from tests.oracle.behaviors import with_visitors
from tests.oracle.filters import FilterJson, all_hold
from tests.oracle.query import ScopedRows, StandardQuery
from tests.oracle.sessions import Session, sessions
from tests.oracle.stored_rows import Row, RowsByTable, unix_ms
from tests.oracle.visits import SOURCES, VISIT_NAMES
from tests.oracle.wall_clock import bucket, iso, wall

DIGITS = 6
TIME = "time:"


class CustomQuery(Struct, frozen=True, kw_only=True):
    """One custom question, as it is sent."""

    table: str
    selects: Sequence[Mapping[str, str]]
    start: date
    end: date
    filters: Sequence[Mapping[str, Any]] = ()
    group_by: Sequence[str] = ()
    order_by: Sequence[Mapping[str, str]] = ()
    subject: str = "shop"
    zone: str = "UTC"
    having: Sequence[Mapping[str, Any]] = ()
    limit: int | None = None
    page: int = 1
    include_bots: bool = False

    @property
    def groups(self) -> Sequence[str]:
        """Names of the groups in the response."""
        return [output_name(name) for name in self.group_by]

    @property
    def body(self) -> Mapping[str, Any]:
        """The body of its request."""
        query = {
            "table": self.table,
            "selects": list(self.selects),
            "filters": list(self.filters),
            "groupBy": list(self.group_by),
            "having": list(self.having),
            "orderBy": list(self.order_by),
        }
        days = {"startDate": self.start.isoformat(), "endDate": self.end.isoformat()}
        limit = {"page": self.page} | ({} if self.limit is None else {"limit": self.limit})
        bots = {"include_bots": self.include_bots, "timezone": self.zone}
        return {"query": query, **days, **bots, **limit}


def output_name(group: str) -> str:
    """Name of a group in the response."""
    if group in DATE_PARTS:
        return group.removeprefix(TIME)
    return "date" if group.startswith(TIME) else group


DATE_PARTS: Mapping[str, Callable[[datetime], int]] = {
    "time:hour_of_day": lambda there: there.hour,
    "time:day_of_week": lambda there: there.isoweekday(),
}
"""Buckets by local date and time."""


def expected_result(held: RowsByTable, query: CustomQuery) -> list[ResultRow]:
    """The rows that the service should give."""
    seen = rows_seen(held, query)
    filters = query.filters if query.table == "clicks" else with_visitors_of(seen, query.filters)
    rows = [row for row in table(seen, query) if all_hold(row, filters)]
    groups = grouped(rows, lambda row: tuple(group_value(query, row, n) for n in query.group_by))
    if not query.group_by:
        groups = {(): rows}
    found = [
        {**dict(zip(query.groups, key, strict=True)), **summed(members, query.selects)}
        for key, members in groups.items()
    ]
    found = [row for row in found if all_hold(row, query.having)]
    for name, descending in reversed(order(query)):
        there = [row for row in found if row[name] is not None]
        absent = [row for row in found if row[name] is None]
        found = [*sorted(there, key=itemgetter(name), reverse=descending), *absent]
    limit = query.limit or 1000
    page = found[(query.page - 1) * limit : query.page * limit]
    return [
        {
            name: label(value) if name == "date" else shown_value(value)
            for name, value in row.items()
        }
        for row in page
    ]


def group_value(query: CustomQuery, row: Row, name: str) -> Any:
    """Group key of a row: a column, or the bucket that it begins in."""
    if not name.startswith(TIME):
        return row.get(name)
    at = unix_ms(row["started_at"]) if query.table == "sessions" else row["ms"]
    if name in DATE_PARTS:
        return DATE_PARTS[name](wall(at, query.zone))
    granularity = name.removeprefix(TIME)
    text, distance = bucket(at, query.zone, granularity)
    return text, -distance  # the hour that comes twice: first the one in summer time


def label(value: Any) -> str:
    """A bucket as it is shown."""
    text: str = value[0]
    return text


def order(query: CustomQuery) -> list[tuple[str, bool]]:
    """Sort keys with descending or not; the groups come last."""
    terms = [(term["field"], term["direction"] == "desc") for term in query.order_by]
    if not terms:
        terms = [(alias(query.selects[0]), True)]
    return [*terms, *((name, False) for name in query.groups)]


def alias(select: Mapping[str, str]) -> str:
    """Name of a value."""
    field = "all" if select["field"] == "*" else select["field"].replace(".", "_")
    return select.get("alias") or f"{select['aggregate']}_{field}"


def summed(rows: Sequence[Row], selects: Sequence[Mapping[str, str]]) -> ResultRow:
    """The values of one group."""
    found = {}
    for select in selects:
        if select["field"] == "*":
            found[alias(select)] = len(rows)
            continue
        values = [row[select["field"]] for row in rows if row.get(select["field"]) is not None]
        found[alias(select)] = AGGREGATES[select["aggregate"]](values)
    return found


def quantile(share: Fraction) -> Callable[[Sequence[Any]], Fraction | None]:
    """The value below which a share of the others lies, between two neighbours in a line."""

    def of(values: Sequence[Any]) -> Fraction | None:
        ranked = sorted(Fraction(value) for value in values)
        if not ranked:
            return None
        at = share * (len(ranked) - 1)
        low = at.__floor__()
        high = min(low + 1, len(ranked) - 1)
        return ranked[low] + (ranked[high] - ranked[low]) * (at - low)

    return of


AGGREGATES: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "count": len,
    "uniq": lambda values: len(set(values)),
    "sum": lambda values: sum(values) if values else None,
    "avg": lambda values: sum(map(Fraction, values)) / len(values) if values else None,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "median": quantile(Fraction(1, 2)),
    "p75": quantile(Fraction(75, 100)),
    "p90": quantile(Fraction(90, 100)),
    "p95": quantile(Fraction(95, 100)),
    "p99": quantile(Fraction(99, 100)),
}


def with_visitors_of(seen: ScopedRows, filters: Sequence[FilterJson]) -> list[FilterJson]:
    """The filters with behaviors replaced by the ids of their visitors."""
    return [with_visitors(each, seen.events_within) for each in filters]


def rows_seen(held: RowsByTable, query: CustomQuery) -> ScopedRows:
    """All stored rows of the subject and the time range."""
    return ScopedRows(
        held,
        StandardQuery(
            name=query.table,
            start=query.start,
            end=query.end,
            subject=query.subject,
            zone=query.zone,
            include_bots=query.include_bots,
        ),
    )


def table(seen: ScopedRows, query: CustomQuery) -> list[Row]:
    """All rows of the table that the question may see."""
    if query.table == "clicks":
        return seen.rows("clicks")

    if query.table == "sessions":
        in_sessions = [row for row in seen.events if row["session_id"] is not None]
        return [session_row(session) for session in sessions(in_sessions)]
    stored = "events" if query.table == "outbound" else query.table
    rows: list[Row] = [
        {**row, **{name: row[f"visit.{name}"] for name in SOURCES}} for row in seen.rows(stored)
    ]
    if query.table == "outbound":
        away = [row for row in rows if row.get("outbound_domain") is not None]
        return [{**row, "text": row["link_text"], "domain": row["outbound_domain"]} for row in away]
    return rows


def session_row(session: Session) -> Row:
    """A session as the `sessions` table has it."""
    events = session.events
    return {
        "website_id": _least(events, "website_id"),
        "session_id": events[0]["session_id"],
        "anonymous_id": _least(events, "anonymous_id"),
        "person": _least(events, "person"),
        "profile_id": _least(events, "profile_id"),
        "started_at": events[0]["ts"],
        "ended_at": events[-1]["ts"],
        "duration": Fraction(session.milliseconds, 1000),
        "page_views": len(session.views),
        "events": len(events),
        "is_bounce": session.bounced,
        **{name.removeprefix("visit."): events[0][name] for name in VISIT_NAMES},
        "entry_path": events[0]["visit.entry_page"],
        "exit_path": events[0]["visit.exit_page"],
        "host": events[0]["visit.landing_host"],
        **{name: events[0][name] for name in VISIT_NAMES},
    }


def _least(events: Sequence[Row], column: str) -> str | None:
    return min((row[column] for row in events if row.get(column) is not None), default=None)


def shown_value(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, datetime):
        return iso(unix_ms(value))
    if isinstance(value, Fraction | Decimal):
        return round(float(value), DIGITS)
    return value
