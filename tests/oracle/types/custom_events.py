"""Custom events by path, time and property."""

import json
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from tests.oracle.aggregates import (
    ResultRow,
    average,
    distinct,
    grouped,
    named,
    ordered,
    percent,
    rounded,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row
from tests.oracle.types.events import custom, totals
from tests.oracle.wall_clock import iso


def by_path(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "name": path,
            "total_events": len(held),
            "unique_event_types": distinct(held, "name"),
            "unique_users": visitors(held),
        }
        for path, held in grouped(custom(scoped), lambda row: row.get("path")).items()
    ]
    return ordered(result, "-total_events", "name")


def trends(scoped: ScopedRows) -> list[ResultRow]:
    groups = grouped(custom(scoped), scoped.bucket)
    return [{"date": point[0], **totals(groups.get(point, []))} for point in scoped.points]


def by_event(scoped: ScopedRows) -> list[ResultRow]:
    """In the order of time; nothing where nothing happened."""
    found: list[ResultRow] = []
    groups = grouped(custom(scoped), scoped.bucket)
    for point in scoped.points:
        names = Counter(row["name"] for row in groups.get(point, []))
        rows: list[ResultRow] = [
            {"date": point[0], "event_name": name, "total_events": count}
            for name, count in names.items()
        ]
        found += ordered(rows, "-total_events", "event_name")
    return found


def recent(scoped: ScopedRows) -> list[ResultRow]:
    return [
        {
            "event_name": row["name"],
            **named(row, "namespace", "path", "source", "properties", "anonymous_id", "session_id"),
            "timestamp": iso(row["ms"]),
        }
        for row in reversed(custom(scoped))
    ]


Key = tuple[str, str]
"""Event and property."""


def properties(rows: list[Row]) -> dict[Key, list[str]]:
    """The values of each property of each event, as text; null is left out."""
    found: dict[Key, list[str]] = {}
    for row in rows:
        for key, value in json.loads(row.get("properties") or "{}").items():
            if value is not None:
                found.setdefault((row["name"], key), []).append(spelled(value)[:512])
    return found


def spelled(value: Any) -> str:
    """As JSON writes it; a string without its quotes."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def ranked(values: list[str]) -> list[tuple[str, int]]:
    """Values and how often each occurs, the most frequent first."""
    return sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))


def every_value(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {"name": event, "property_key": key, "property_value": value, "count": count}
        for (event, key), values in properties(custom(scoped)).items()
        for value, count in ranked(values)
    ]
    return ordered(result, "-count", "name", "property_key", "property_value")


def cardinality(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "event_name": event,
            "property_key": key,
            "unique_values": len(set(values)),
            "occurrences": len(values),
        }
        for (event, key), values in properties(custom(scoped)).items()
    ]
    return ordered(result, "-occurrences", "event_name", "property_key")


def shares(scoped: ScopedRows, last: str) -> list[ResultRow]:
    """Values with their share of all of their property, and one more field."""
    result: list[ResultRow] = []
    for (event, key), values in sorted(properties(custom(scoped)).items()):
        for rank, (value, count) in enumerate(ranked(values), 1):
            more = {"rank": rank, "cardinality": len(set(values))}
            result.append(
                {
                    "event_name": event,
                    "property_key": key,
                    "property_value": value,
                    "count": count,
                    "total": len(values),
                    "percentage": percent(count, len(values)),
                    last: more[last],
                }
            )
    return result


def top_values(scoped: ScopedRows) -> list[ResultRow]:
    return [row for row in shares(scoped, "rank") if row["rank"] <= 10]


def distribution(scoped: ScopedRows) -> list[ResultRow]:
    return [row for row in shares(scoped, "cardinality") if row["cardinality"] <= 20]


def discovery(scoped: ScopedRows) -> list[ResultRow]:
    """Every event with each of its properties; one without any has one row."""
    known = properties(custom(scoped))
    result: list[ResultRow] = []
    for event, held in grouped(custom(scoped), lambda row: row["name"]).items():
        for key in [key for name, key in known if name == event] or [""]:
            values = known.get((event, key), [])
            result.append(
                {
                    "event_name": event,
                    "total_events": len(held),
                    "unique_users": visitors(held),
                    "unique_sessions": distinct(held, "session_id"),
                    "property_key": key,
                    "unique_values": len(set(values)),
                    "top_values": [value for value, _ in ranked(values)[:5]],
                }
            )
    return ordered(result, "-total_events", "-unique_values", "event_name", "property_key")


def is_number(text: str) -> bool:
    """Whether it reads as one."""
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


RENDERED = {
    "boolean": "distribution",
    "numeric": "aggregate",
    "datetime": "aggregate",
    "url": "top_values",
    "categorical": "distribution",
    "text": "top_values",
    "high_cardinality": "count",
}


def classification(scoped: ScopedRows) -> list[ResultRow]:
    happened = Counter(row["name"] for row in custom(scoped))
    result: list[ResultRow] = []
    for (event, key), values in properties(custom(scoped)).items():
        different = len(set(values))
        numeric = all(is_number(value) for value in values)
        boolean = all(value.lower() in ("true", "false") for value in values)
        dates = all(re.match(r"....-..-..", value, re.DOTALL) for value in values)
        urls = all(value.startswith(("http://", "https://")) for value in values)
        guesses = {
            "boolean": boolean,
            "numeric": numeric,
            "datetime": dates,
            "url": urls,
            "categorical": different <= 20,
            "text": different <= 1000,
            "high_cardinality": True,
        }
        guess = next(name for name, holds in guesses.items() if holds)
        result.append(
            {
                "event_name": event,
                "property_key": key,
                "cardinality": different,
                "total_count": len(values),
                "coverage_ratio": rounded(Fraction(len(values), happened[event]), 4),
                "avg_length": average([len(value) for value in values]),
                "max_length": max(len(value) for value in values),
                "is_numeric": int(numeric),
                "is_boolean": int(boolean),
                "is_date_like": int(dates),
                "is_url_like": int(urls),
                "inferred_type": guess,
                "render_strategy": RENDERED[guess],
                "sample_values": [value for value, _ in ranked(values)[:5]],
            }
        )
    return ordered(result, "-total_count", "event_name", "property_key")


CUSTOM_EVENTS: Oracles = {
    "custom_events_by_path": Oracle(by_path, 50),
    "custom_events_trends": Oracle(trends, series=True),
    "custom_events_trends_by_event": Oracle(by_event, 10_000),
    "custom_events_recent": Oracle(recent, 50),
    "custom_event_properties": Oracle(every_value, 10_000),
    "custom_events_property_cardinality": Oracle(cardinality),
    "custom_events_property_top_values": Oracle(top_values, 10_000),
    "custom_events_property_distribution": Oracle(distribution),
    "custom_events_discovery": Oracle(discovery, 200),
    "custom_events_property_classification": Oracle(classification, 500),
}
