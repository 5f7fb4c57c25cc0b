"""Texts of a report: how numbers, changes and periods are written, in English.

Names come from visitors and from people. They are shown on one line, without characters that turn
the direction of a text, and so that no program makes a link of one.
"""

import re
from datetime import date

from msgspec import Struct

from query.metrics.metric import Unit
from query.reports.content import Content, Figure, Row, Table
from query.reports.schedule import Period, Schedule
from query.run.comparison import change_of, percent_of

MAX_NAME_LENGTH = 120
UP, DOWN, SAME = "▲", "▼", "="
NOTHING = "–"
NO_LINK = "\u200c"
"""Zero-width non-joiner: mail programs make links of `shop.example` and of `https://…`."""

_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
_LINKED = re.compile(r"(?<=[:.@])(?=[^\W\d]|/)")
WORDS = {
    Schedule.DAILY: ("day", "Daily report"),
    Schedule.WEEKLY: ("week", "Weekly report"),
    Schedule.MONTHLY: ("month", "Monthly report"),
}


class Change(Struct, frozen=True):
    """A change since the period before, as `▲ 12%`."""

    text: str
    is_better: bool | None
    """None where it is neither better nor worse."""


def shown_name(text: str) -> str:
    """A name on one line, cut where it is long."""
    line = one_line(text)
    return line if len(line) <= MAX_NAME_LENGTH else line[: MAX_NAME_LENGTH - 1] + "…"


def one_line(text: str) -> str:
    """A text on one line, without characters that are not shown."""
    return " ".join(_UNSHOWN.sub(" ", text).split())


def without_links(name: str) -> str:
    """A name in which no mail program finds an address."""
    return _LINKED.sub(NO_LINK, name)


def shown_value(value: object, unit: Unit | None = None) -> str:
    """A value of a table or a figure."""
    if value is None:
        return NOTHING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return shown_name(str(value))
    if unit is Unit.SECONDS:
        return _duration(value)
    number = f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
    return f"{number}%" if unit is Unit.PERCENT else number


def change_of_figure(figure: Figure) -> Change | None:
    """The change of a figure: of a percentage in points, else in percent; None without one."""
    if figure.unit is not Unit.PERCENT:
        return _change(figure.value, figure.previous, figure.less_is_better)
    points = change_of(figure.value, figure.previous)
    if points is None:
        return None
    return _arrow(points, " points", figure.less_is_better)


def change_of_row(row: Row) -> Change | None:
    """The change of the first value of a row; None without one."""
    return _change(row.values[0] if row.values else None, row.previous)


def has_changes(table: Table) -> bool:
    """Whether the table has values of the period before."""
    return any(row.previous is not None for row in table.rows)


def period_text(period: Period) -> str:
    """As `23 – 29 November 2026`, `November 2026` or `Sunday, 29 November 2026`."""
    first, last = period.first, period.last
    if first == last:
        return f"{first:%A}, {_day(first)}"
    if first.day == 1 and (last - first).days >= 27:
        return f"{first:%B %Y}"
    if first.year != last.year:
        return f"{_day(first)} – {_day(last)}"
    if first.month != last.month:
        return f"{first.day} {first:%B} – {_day(last)}"
    return f"{first.day} – {_day(last)}"


def subject(content: Content) -> str:
    """The subject of the mail."""
    return f"{shown_name(content.website)}: {shown_name(content.name)}, {_short(content.period)}"


def point_text(label: str) -> str:
    """The label of a day or an hour: `Mon 23`, `14:00`."""
    if len(label) > len("2026-11-23"):
        return label[11:16]
    day = date.fromisoformat(label)
    return f"{day:%a} {day.day}"


def series_title(content: Content) -> str:
    """What the chart shows."""
    return "Visitors by hour" if content.schedule is Schedule.DAILY else "Visitors by day"


def summary(content: Content) -> str:
    """The report in one sentence."""
    visitors, _, views = content.figures[:3]
    change = change_of_figure(visitors)
    since = f" ({change.text} on the {WORDS[content.schedule][0]} before)" if change else ""
    return f"{_counted(visitors, 'visitor')}{since}, {_counted(views, 'page view')}."


def alt_text(content: Content) -> str:
    """The chart in words, for those who do not see it."""
    points = [(point.value or 0, point_text(point.label)) for point in content.points]
    if not points:
        return series_title(content)
    most, least = max(points), min(points)
    return (
        f"{series_title(content)}: between {least[0]:,} ({least[1]}) and {most[0]:,} ({most[1]})."
    )


def _change(value: object, previous: object, less_is_better: bool = False) -> Change | None:
    change = change_of(value, previous)
    if change is None:
        return None
    percent = percent_of(change, previous)
    if percent is None:  # there was nothing before
        return Change(f"{UP} new", not less_is_better) if change else Change(f"{SAME} 0%", None)
    return _arrow(percent, "%", less_is_better)


def _arrow(change: float, unit: str, less_is_better: bool) -> Change:
    size = abs(change)
    text = f"{size:,.0f}" if size >= 9.95 else f"{size:.1f}".removesuffix(".0")
    if text == "0":
        return Change(f"{SAME} 0{unit}", None)
    return Change(f"{UP if change > 0 else DOWN} {text}{unit}", (change > 0) != less_is_better)


def _counted(figure: Figure, noun: str) -> str:
    return f"{shown_value(figure.value or 0)} {noun}{'' if figure.value == 1 else 's'}"


def _duration(seconds: float) -> str:
    """As `45s`, `1m 32s` or `2h 05m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _short(period: Period) -> str:
    """The period in a subject, which has little room."""
    first, last = period.first, period.last
    if first == last or (first.day == 1 and (last - first).days >= 27):
        return period_text(period).partition(", ")[2] or period_text(period)
    begin = f"{first.day}" if first.month == last.month else f"{first.day} {first:%b}"
    return f"{begin} – {last.day} {last:%b}"
