"""Conditions of alerts: whether the number of a bucket fires, from values to a value.

A spike or a drop is measured against the median of earlier buckets. The usual deviation is the
median absolute deviation, scaled to a standard deviation (times 1.4826), and at least the square
root of the median, by which counts that are Poisson distributed vary by chance.
"""

import re
from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import median
from typing import Any

from msgspec import Struct

from schemas.registry import Alert

MAD_TO_DEVIATION = 1.4826
MIN_USUAL = 5
"""Earlier buckets that are needed to say what is usual."""
DEFAULT_PERCENT, DEFAULT_DEVIATIONS = 50.0, 3.0
SHOWN_ROWS, MAX_TEXT_LENGTH = 5, 500
LONGEST_NUMBER = 1e15
"""Of these and above, the exponent is shown."""
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
"""As `last_seen` of a row, which differs each time."""

Row = Mapping[str, Any]


class Finding(Struct, frozen=True):
    """What the check of one bucket found."""

    fires: bool | None
    """None: it cannot be said, and the alert stays as it was."""
    value: float | None
    reference: float | None = None
    """What the value is compared with: the threshold, an earlier value, an end of the usual
    range."""
    rows: Sequence[Row] = ()
    """New rows."""
    words: str = ""
    """The comparison in words."""


def against_threshold(alert: Alert, value: float | None) -> Finding:
    """Above or below the threshold."""
    bound = alert.threshold
    if value is None or bound is None:
        return Finding(None, value, bound)
    fires = value > bound if alert.condition == "above" else value < bound
    return Finding(fires, value, bound, words=f"the bound is {shown(bound)}")


def nothing_arrived(value: float | None) -> Finding:
    """No row, or a count of 0."""
    return Finding(not value, value or 0, words="nothing arrived")


def against_earlier(alert: Alert, value: float | None, earlier: float | None) -> Finding:
    """A rise or a fall by at least so many percent."""
    percent = DEFAULT_PERCENT if alert.threshold is None else alert.threshold
    when = "a week earlier" if alert.against == "week" else "before"
    if value is None or earlier is None:
        return Finding(None, value, earlier)
    words = f"{shown(earlier)} {when}"
    if earlier == 0:
        return Finding(alert.condition == "rises" and value > 0, value, earlier, words=words)
    change = (value - earlier) / abs(earlier) * 100
    fires = change >= percent if alert.condition == "rises" else change <= -percent
    return Finding(fires, value, earlier, words=f"{words}, {change:+.0f} %")


def against_usual(alert: Alert, value: float | None, history: Sequence[float]) -> Finding:
    """A spike or a drop beyond the usual range; unknown with too little history."""
    if value is None:
        return Finding(None, value)
    if len(history) < MIN_USUAL:
        words = f"Too little history: {len(history)} of {MIN_USUAL} earlier buckets"
        return Finding(None, value, words=words)
    deviations = DEFAULT_DEVIATIONS if alert.threshold is None else alert.threshold
    middle = median(history)
    spread = median(abs(earlier - middle) for earlier in history) * MAD_TO_DEVIATION
    margin = deviations * max(spread, sqrt(abs(middle)))
    low, high = middle - margin, middle + margin
    words = f"{shown(max(0.0, low) if middle >= 0 else low)} to {shown(high)} is usual"
    if alert.condition == "spike":
        return Finding(value > high, value, high, words=words)
    return Finding(value < low, value, low, words=words)


def new_rows(rows: Sequence[Row], earlier: Sequence[Row], groups: Sequence[str]) -> Finding:
    """Rows whose groups no earlier row has; without groups, texts but instants tell rows apart."""
    identities = {_identity(row, groups) for row in earlier}
    new = [row for row in rows if _identity(row, groups) not in identities]
    words = ", ".join(_name(row, groups) for row in new[:SHOWN_ROWS])
    more = f" and {len(new) - SHOWN_ROWS} more" if len(new) > SHOWN_ROWS else ""
    rows = [_shortened(row) for row in new[:SHOWN_ROWS]]
    return Finding(bool(new), float(len(new)), 0.0, rows, words + more)


def number_in(rows: Sequence[Row], column: str | None) -> float | None:
    """The number of the first row: that of the column, or the first; None without one.

    KeyError when the row has no such column, ValueError when it has a text.
    """
    if not rows:
        return None
    if column is not None:
        number = _number(rows[0][column])
        if number is None and rows[0][column] is not None:
            raise ValueError(column)
        return number
    return next((n for n in map(_number, rows[0].values()) if n is not None), None)


def shown(value: float) -> str:
    """A number for people."""
    if abs(value) >= LONGEST_NUMBER:
        return f"{value:g}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:,.2f}"


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _identity(row: Row, groups: Sequence[str]) -> tuple[Any, ...]:
    return tuple(str(value) for value in _named(row, groups))


def _name(row: Row, groups: Sequence[str]) -> str:
    texts = [str(value) for value in _named(row, groups) if value not in (None, "")]
    return " / ".join(texts)[:120] or "(none)"


def _shortened(row: Row) -> Row:
    """The row with its texts cut: visitors send them, and the registry stores them."""
    return {
        name: value[:MAX_TEXT_LENGTH] if isinstance(value, str) else value
        for name, value in row.items()
    }


def _named(row: Row, groups: Sequence[str]) -> Sequence[Any]:
    if groups:
        return [row.get(name) for name in groups]
    return [v for v in row.values() if isinstance(v, str) and not INSTANT.fullmatch(v)]
