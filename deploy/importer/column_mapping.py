"""Columns of a file become fields of an event: ours by their names, others by what they are called.

A fact that says nothing to us is left out and counted; an event is not refused for it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from deploy.importer.fields import FIELD_BY_NAME, IMPORT_FIELDS, ImportField

EXPORT_COLUMNS = frozenset(("received_at", "referrer_name", "outbound_domain"))
"""Columns that only our own export has, whose paths are decoded."""
SESSION_AS_VISITOR_COLUMNS = frozenset(("visit_id", "session_id"))
"""Who writes both calls a visitor a session."""
PAGE_VIEW = "pageview"
INVALID_TIME_MESSAGE = (
    "the time '{}' cannot be read; write ISO 8601 like 2026-06-05T10:00:00Z, "
    "or Unix seconds, milliseconds or microseconds"
)


class InvalidMapping(Exception):
    """`--map` names what is not there, or the columns do not say what an event needs."""


class InvalidTime(Exception):
    """The line has a time that cannot be read: an event without its time is none."""


class ColumnPlan(Struct, frozen=True):
    """Which column is which field, for lines with the same columns."""

    columns: Mapping[str, ImportField]
    is_own_export: bool
    ignored: Sequence[str]


class ColumnMapper:
    """Makes events of lines, and counts what it leaves out."""

    def __init__(self, given: Mapping[str, str]) -> None:
        for name in given.values():
            if name not in FIELD_BY_NAME:
                raise InvalidMapping(f"'{name}' is no field; fields are {', '.join(FIELD_BY_NAME)}")
        self.overrides = given
        self._plans: dict[tuple[str, ...], ColumnPlan] = {}
        self.skipped_values: Counter[str] = Counter()
        """By field: facts that said nothing to us."""
        self.ignored: set[str] = set()
        """Columns that no field is known by."""

    def event(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The event as the collector takes it."""
        plan = self._plan(tuple(fields))
        found: dict[str, Any] = {}
        for column, field in plan.columns.items():
            try:
                value = field.parse(fields[column])
            except (ValueError, TypeError, OverflowError):
                if field.name == "timestamp":
                    raise InvalidTime(INVALID_TIME_MESSAGE.format(fields[column])) from None
                self.skipped_values[field.name] += 1
                continue
            if value is not None:
                found[field.name] = value
        return _complete_event(found, plan.is_own_export)

    def _plan(self, columns: tuple[str, ...]) -> ColumnPlan:
        if (plan := self._plans.get(columns)) is None:
            plan = self._plans[columns] = plan_columns(columns, self.overrides)
            self.ignored |= set(plan.ignored)
        return plan


def plan_columns(columns: Sequence[str], given: Mapping[str, str]) -> ColumnPlan:
    """Find the fields of these columns; what `given` says goes before what they are called."""
    known = {normalize_column(column): column for column in reversed(columns)}
    chosen = {column: FIELD_BY_NAME[name] for column, name in given.items() if column in columns}
    taken = set(given.values())
    if set(known) >= SESSION_AS_VISITOR_COLUMNS and "anonymous_id" not in known:
        for column, name in (("session_id", "anonymousId"), ("visit_id", "sessionId")):
            if name not in taken:
                chosen.setdefault(known[column], FIELD_BY_NAME[name])
                taken.add(name)
    for field in IMPORT_FIELDS:
        found = next(
            (known[c] for c in (normalize_column(field.name), *field.columns) if c in known), None
        )
        if found is not None and field.name not in taken:
            chosen.setdefault(found, field)
    return ColumnPlan(chosen, set(known) >= EXPORT_COLUMNS, [c for c in columns if c not in chosen])


def normalize_column(column: str) -> str:
    """`Event Name` → `event_name`."""
    return re.sub(r"[^a-z0-9]+", "_", column.strip().lower()).strip("_")


def _complete_event(found: dict[str, Any], ours: bool) -> dict[str, Any]:
    """Put together what other programs keep apart."""
    found.setdefault("name", PAGE_VIEW)
    host, query = found.pop("host", None), found.pop("query", None)
    if page := _page_url(host, found.get("path"), query, ours):
        found["path"] = page
    host, path = found.pop("referrerHost", None), found.pop("referrerPath", None)
    if host:
        found.setdefault("referrer", f"https://{host}{path or ''}")
    return found


def _page_url(host: str | None, path: str | None, query: str | None, ours: bool) -> str | None:
    """The page's URL; None when nothing says which page it was."""
    if path is None or "://" in path:
        return path
    page = quote(path) if ours else path
    if query:
        page += f"?{query.removeprefix('?')}"
    return f"https://{host}/{page.removeprefix('/')}" if host else page
