"""Maps columns of a file to event fields, by known names or by `--map`.

A value that cannot be parsed is left out and counted; the event itself is still imported.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from deploy.importer.cell_values import InvalidLine, parse_text
from deploy.importer.export_formats import format_of
from deploy.importer.fields import FIELD_BY_NAME, IMPORT_FIELDS, ImportField

EXPORT_COLUMNS = frozenset(("received_at", "referrer_name", "outbound_domain"))
"""Columns by which an export of Tidemark is recognized; its paths are percent-decoded."""
SESSION_AS_VISITOR_COLUMNS = frozenset(("visit_id", "session_id"))
"""In files with both columns, `session_id` is the visitor (Umami)."""
PAGE_VIEW = "pageview"
KIND_COLUMNS = (
    *("type", "event_type", "eventtype", "event_kind", "kind", "action", "hit_type", "hittype"),
    *("record_type", "message_type", "entry_type", "interaction_type", "activity_type"),
)
"""Columns that say what a line is: `identify`, `page`, `performance`."""
PAGE_VIEW_WORDS = frozenset(("pageview", "page_view", "page", "screen_view"))
EVENT_WORDS = frozenset(("event", "track", "custom", "custom_event", "customevent"))
"""Kinds of lines that are what they become: the first without a name, the others with one."""
KIND_MESSAGE = (
    "the column '{}' says what each line is (here '{}'), and is not read: lines would become page "
    "views or events that they are not. If it has the names of events, use --map {}=name; else "
    "write the lines of events and page views into a file without this column"
)
INVALID_TIME_MESSAGE = (
    "the time '{}' cannot be read; write ISO 8601 like 2026-06-05T10:00:00Z, "
    "or Unix seconds, milliseconds or microseconds"
)


class InvalidMapping(Exception):
    """`--map` names an unknown column or field, or a required field has no column."""


class ColumnPlan(Struct, frozen=True):
    """Column → field, for lines with the same columns."""

    columns: Mapping[str, ImportField]
    is_own_export: bool
    ignored: Sequence[str]
    kind: str | None = None
    """An ignored column that says what each line is."""


class ColumnMapper:
    """Converts lines to events, and counts values that it leaves out."""

    def __init__(self, overrides: Mapping[str, str]) -> None:
        for name in overrides.values():
            if name not in FIELD_BY_NAME:
                known = ", ".join(FIELD_BY_NAME)
                raise InvalidMapping(f"'{name}' is not a field; the fields are {known}")
        self.overrides = overrides
        self._plans: dict[tuple[str, ...], ColumnPlan] = {}
        self.skipped_values: Counter[str] = Counter()
        """Field → number of values that could not be parsed."""
        self.mapped: dict[str, str] = {}
        """Column → field."""
        self.ignored: set[str] = set()
        """Columns that match no field."""

    def event(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The event as sent to the collector; InvalidLine if the line is none."""
        converted = self.known_columns(fields)
        is_known_format, fields = converted is not fields, converted
        plan = self._plan(tuple(fields))
        if not is_known_format:
            refuse_kind(plan, fields)
        event: dict[str, Any] = {}
        for column, field in plan.columns.items():
            try:
                value = field.parse(fields[column])
            except (ValueError, TypeError, OverflowError):
                if field.name == "timestamp":
                    raise InvalidLine(INVALID_TIME_MESSAGE.format(fields[column])) from None
                self.skipped_values[field.name] += 1
                continue
            if value is not None:
                event[field.name] = value
        return _complete_event(event, plan.is_own_export)

    def known_columns(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The line with the columns of its export format; columns of `--map` stay."""
        export_format = format_of(tuple(fields))
        if export_format is None:
            return fields
        mapped = {column: fields[column] for column in self.overrides if column in fields}
        return {**export_format.convert(fields), **mapped}

    def _plan(self, columns: tuple[str, ...]) -> ColumnPlan:
        if (plan := self._plans.get(columns)) is None:
            plan = self._plans[columns] = plan_columns(columns, self.overrides)
            self.mapped |= {column: field.name for column, field in plan.columns.items()}
            self.ignored |= set(plan.ignored)
        return plan


def plan_columns(columns: Sequence[str], overrides: Mapping[str, str]) -> ColumnPlan:
    """Find the fields of these columns; `overrides` have priority over known column names."""
    known = {normalize_column(column): column for column in reversed(columns)}
    chosen = {
        column: FIELD_BY_NAME[name] for column, name in overrides.items() if column in columns
    }
    taken = set(overrides.values())
    if set(known) >= SESSION_AS_VISITOR_COLUMNS and "anonymous_id" not in known:
        for column, name in (("session_id", "anonymousId"), ("visit_id", "sessionId")):
            if name not in taken:
                chosen.setdefault(known[column], FIELD_BY_NAME[name])
                taken.add(name)
    for field in IMPORT_FIELDS:
        match = next(
            (known[c] for c in (normalize_column(field.name), *field.columns) if c in known), None
        )
        if match is not None and field.name not in taken:
            chosen.setdefault(match, field)
    is_own_export = known.keys() >= EXPORT_COLUMNS
    kinds = (known[name] for name in KIND_COLUMNS if name in known)
    return ColumnPlan(
        chosen,
        is_own_export,
        [column for column in columns if column not in chosen],
        None if is_own_export else next((kind for kind in kinds if kind not in chosen), None),
    )


def normalize_column(column: str) -> str:
    """`Event Name` → `event_name`."""
    return re.sub(r"[^a-z0-9]+", "_", column.strip().lower()).strip("_")


def refuse_kind(plan: ColumnPlan, fields: Mapping[str, Any]) -> None:
    """InvalidLine if an ignored column says that the line is not what it would become."""
    kind = parse_text(fields[plan.kind]) if plan.kind else None
    if kind is None:
        return
    names = (fields[column] for column, field in plan.columns.items() if field.name == "name")
    name = parse_text(next(names, None))
    is_page_view = name is None or normalize_column(name) in PAGE_VIEW_WORDS
    if normalize_column(kind) not in (PAGE_VIEW_WORDS if is_page_view else EVENT_WORDS):
        raise InvalidLine(KIND_MESSAGE.format(plan.kind, kind[:60], plan.kind))


def _complete_event(event: dict[str, Any], ours: bool) -> dict[str, Any]:
    """Combine host, path and query of products that export them separately."""
    event.setdefault("name", PAGE_VIEW)
    host, query = event.pop("host", None), event.pop("query", None)
    if page := _page_url(host, event.get("path"), query, ours):
        event["path"] = page
    host, path = event.pop("referrerHost", None), event.pop("referrerPath", None)
    if host:
        event.setdefault("referrer", f"https://{host}{path or ''}")
    return event


def _page_url(host: str | None, path: str | None, query: str | None, ours: bool) -> str | None:
    """The URL of the page; None without a path."""
    if path is None or "://" in path:
        return path
    page = quote(path) if ours else path
    if query:
        page += f"?{query.removeprefix('?')}"
    return f"https://{host}/{page.removeprefix('/')}" if host else page
