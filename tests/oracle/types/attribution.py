"""Credit of touches, conversion by conversion."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tests.oracle.aggregates import ResultRow, is_view, rounded
from tests.oracle.amounts import amount
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row
from tests.oracle.types.funnel_goals_paths_retention import is_step
from tests.oracle.visits import SOURCES

DAY_MS = 86_400_000


def first_views(rows: list[Row]) -> list[Row]:
    """The first page view of each visit, in the order of rows."""
    seen: set[tuple[str, str]] = set()
    found = []
    for row in rows:
        key = (row["anonymous_id"], row["session_id"])
        if is_view(row) and None not in key and key not in seen:
            seen.add(key)
            found.append(row)
    return found


def shares(model: str, touches: list[Row]) -> list[Fraction]:
    """Share of each touch in one conversion."""
    count = len(touches)
    known = [i for i, row in enumerate(touches) if row["visit.channel"] not in (None, "Direct")]
    whole = {
        "first_touch": 0,
        "last_touch": count - 1,
        "last_non_direct": known[-1] if known else count - 1,
    }
    if model in whole:
        return [Fraction(i == whole[model]) for i in range(count)]
    if model == "linear" or count <= 2:
        return [Fraction(1, count)] * count
    middle = [Fraction(1, 5) / (count - 2)] * (count - 2)
    return [Fraction(2, 5), *middle, Fraction(2, 5)]


def attribution(scoped: ScopedRows) -> list[ResultRow]:
    """Each conversion among the visits of its visitor in the window before it."""
    options = scoped.query.options
    window = options.get("window_days", 30)
    by = options.get("by", "visit.channel")
    field = f"visit.{by}" if by in SOURCES else by
    earlier = scoped.read_from(max(0, scoped.start_ms - (window + 1) * DAY_MS))
    views = first_views(earlier.rows("events", filtered=False))
    credit: dict[str | None, Fraction] = {}
    money: dict[str | None, Fraction] = {}
    assisted: dict[str | None, int] = {}
    for row in scoped.events:
        if not is_step(row, options["goal"]):
            continue
        touches = [
            view
            for view in views
            if view["anonymous_id"] == row["anonymous_id"]
            and row["ms"] - window * DAY_MS <= view["ms"] <= row["ms"]
        ]
        touches.sort(key=lambda view: view["session_id"] == row["session_id"])
        names = [view[field] for view in touches] or [None]
        parts = shares(options.get("model", "last_touch"), touches) if touches else [Fraction(1)]
        for name, part in zip(names, parts, strict=True):
            credit[name] = credit.get(name, Fraction()) + part
            money[name] = money.get(name, Fraction()) + part * worth(row, options)
        for name in set(names):
            assisted[name] = assisted.get(name, 0) + bool(touches)
    total = sum(credit.values())
    return [
        {
            "name": name,
            "conversions": rounded(credit[name], 4),
            "percentage": rounded(credit[name] * 100 / total),
            "assisted_conversions": assisted[name],
            "value": rounded(money[name], 4) if "value" in options["goal"] else None,
        }
        for name in sorted(credit, key=lambda n: (-credit[n], n is None, n or ""))
    ]


def worth(row: Row, options: Mapping[str, Any]) -> Fraction:
    """The number that the property of a conversion holds."""
    if "value" not in options["goal"]:
        return Fraction()
    return amount(row, options["goal"]["value"]) or Fraction()


ATTRIBUTION: Oracles = {"attribution": Oracle(attribution)}
