"""Compares totals of another product with what is stored for the website, and explains differences.

By day, by page and by source; each count that both have. Of a difference it says what can be
computed: the same count with bots, in another time zone, and of days of which nothing is stored.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from deploy.importer.totals_file import Totals

Counts = Mapping[str, Mapping[str, int | None]]
"""Counts by name, by value."""
Ask = Callable[[str, str, bool], Counts]
"""What is stored by a dimension of metrics, in a time zone, and whether with bots."""

METRICS = ("page_views", "visits", "visitors")


class Kind(Struct, frozen=True):
    """What lines are compared by."""

    name: str
    dimension: str
    """Of the totals."""
    by: str
    """Of metrics."""
    counts: Sequence[str]
    """The first of them that the totals have is compared, or all by day."""


DAY = Kind("day", "", "time:day", METRICS)
KINDS = (
    DAY,
    Kind("page", "path", "path", ("page_views", "visitors")),
    Kind("source", "referrer_name", "referrer_name", ("visits", "visitors", "page_views")),
)


class Difference(Struct, frozen=True, rename="camel"):
    """One count of the other product beside ours."""

    kind: str
    value: str
    count: str
    theirs: int
    ours: int
    difference: int
    """Ours less theirs."""
    percent: float | None
    """The difference in percent of theirs."""
    explained_by: Sequence[str] = ()


class Explanations(Struct, frozen=True, rename="camel"):
    """What may be behind the differences of all days."""

    differences_by_zone: Mapping[str, int]
    """Time zone → sum of the differences of all days, without their signs."""
    bot_page_views: int
    """Page views of bots, which results leave out."""
    visits_over_midnight: int
    """Visits that are of two days: ours counts them on the first."""
    days_without_data: Sequence[str]
    """Days of the totals of which nothing is stored."""
    rejected_lines: int = 0
    """Lines that imports of the website rejected."""


def theirs_of(totals: Totals, first: dt.date, last: dt.date) -> dict[str, Counts]:
    """The counts of the totals in a time range, by kind: of days by day, of others in all."""
    found: dict[str, dict[str, dict[str, int | None]]] = {kind.name: {} for kind in KINDS}
    by_dimension = {kind.dimension: kind.name for kind in KINDS}
    for row in totals.rows.to_pylist():
        day = row["ts"].date()
        kind = by_dimension.get(row["dimension"])
        value = day.isoformat() if kind == DAY.name else row["value"]
        if kind is None or value is None or not first <= day <= last:
            continue
        counts = found[kind].setdefault(value, dict.fromkeys(METRICS))
        for name in METRICS:
            if row[name] is not None:
                counts[name] = (counts[name] or 0) + row[name]
    return {kind: dict(counts) for kind, counts in found.items()}


def compare(
    theirs: Mapping[str, Counts], zones: Sequence[str], ask: Ask, active: Mapping[str, int]
) -> tuple[list[Difference], Explanations]:
    """The differences in the first zone, and what explains them.

    `active` are the visits of each day that began on it or went on.
    """
    rows: list[Difference] = []
    days = {zone: ask(DAY.by, zone, False) for zone in zones}
    bots: dict[str, Counts] = {}
    for kind in KINDS:
        if not theirs[kind.name]:
            continue
        ours = days[zones[0]] if kind is DAY else ask(kind.by, zones[0], False)
        bots[kind.name] = ask(kind.by, zones[0], True)
        others = {zone: days[zone] for zone in zones[1:]} if kind is DAY else {}
        for value, count in _compared(kind, theirs[kind.name]):
            of_value = (kind, value, count, theirs[kind.name], ours)
            went_on = active.get(value, 0) if (kind, count) == (DAY, "visits") else 0
            rows.append(_difference(*of_value, bots[kind.name], others, went_on))
    main = _main_count(DAY, theirs[DAY.name]) or METRICS[0]
    ours = days[zones[0]]
    with_bots = bots.get(DAY.name) or ask(DAY.by, zones[0], True)
    their_days = theirs[DAY.name]
    return rows, Explanations(
        {
            zone: sum(abs(_of(found, day, main) - _of(their_days, day, main)) for day in their_days)
            for zone, found in days.items()
        },
        _sum(with_bots, "page_views") - _sum(ours, "page_views"),
        sum(active.values()) - _sum(ours, "visits"),
        [day for day in sorted(their_days) if not any(ours.get(day, {}).values())],
    )


def _compared(kind: Kind, theirs: Counts) -> list[tuple[str, str]]:
    """Value and count of each line: all days, other values by the size of their count."""
    if kind is DAY:
        return [(day, c) for day in sorted(theirs) for c in METRICS if theirs[day][c] is not None]
    main = _main_count(kind, theirs)
    if main is None:
        return []
    return [(value, main) for value in sorted(theirs, key=lambda v: (-(theirs[v][main] or 0), v))]


def _main_count(kind: Kind, theirs: Counts) -> str | None:
    has = (name for name in kind.counts if any(c[name] is not None for c in theirs.values()))
    return next(has, None)


def _difference(
    kind: Kind,
    value: str,
    count: str,
    theirs: Counts,
    ours: Counts,
    bots: Counts,
    others: Mapping[str, Counts],
    active: int,
) -> Difference:
    their_count, our_count = theirs[value][count] or 0, _of(ours, value, count)
    difference = our_count - their_count
    reasons = []
    if difference and kind is DAY and not any(ours.get(value, {}).values()):
        reasons.append("no events are stored for this day")
    if difference < 0 and (with_bots := _of(bots, value, count)) > our_count:
        reasons.append(f"{with_bots:,} with bots")
    if difference < 0 and active > our_count:
        reasons.append(f"{active:,} with visits that began the day before")
    for zone, found in others.items():
        if abs(_of(found, value, count) - their_count) < abs(difference):
            reasons.append(f"{_of(found, value, count):,} in {zone}")
    percent = round(100 * difference / their_count, 1) if their_count else None
    return Difference(kind.name, value, count, their_count, our_count, difference, percent, reasons)


def _of(counts: Counts, value: str, count: str) -> int:
    return counts.get(value, {}).get(count) or 0


def _sum(counts: Counts, count: str) -> int:
    return sum(found.get(count) or 0 for found in counts.values())


def counts_by(rows: Sequence[Mapping[str, Any]], by: str) -> Counts:
    """Rows of metrics by the value of their dimension."""
    return {
        str(row[by])[:10] if by == DAY.by else str(row.get(by) or ""): {
            name: int(row[name] or 0) for name in METRICS
        }
        for row in rows
    }
