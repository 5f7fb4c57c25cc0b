"""Maps columns of a file to event fields, by known names or by `--map`.

A value that cannot be parsed is left out and counted; the event itself is still imported.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from deploy.importer.fields import FIELD_BY_NAME, IMPORT_FIELDS, ImportField
from deploy.importer.formats.access_log import VISITOR_PARTS, LogVisits
from deploy.importer.formats.cell_values import DAY_MS, InvalidLine, parse_instant, parse_text
from deploy.importer.formats.export_format import ExportFormat
from deploy.importer.formats.export_formats import format_of
from deploy.importer.member_lines import EXPORT_COLUMNS
from schemas.runtime.clock import parse_instant_ms

SESSION_AS_VISITOR_COLUMNS = frozenset(("visit_id", "session_id"))
"""In files with both columns, `session_id` is the visitor (Umami)."""
PAGE_VIEW = "pageview"
KIND_COLUMNS = (
    *("type", "event_type", "eventtype", "event_kind", "kind", "action", "hit_type", "hittype"),
    *("record_type", "message_type", "entry_type", "interaction_type", "activity_type"),
)
"""Columns that say what a line is: `identify`, `page`, `performance`."""
KIND_WORDS = frozenset(("type", "kind", "action"))
"""Last words of other columns that say what a line is: `eventCategoryType`."""
FACT_WORDS = frozenset(
    (
        *("device", "browser", "os", "connection", "content", "referrer", "referer", "user"),
        *("visitor", "customer", "account", "page", "traffic", "source", "channel", "mime"),
        *("network", "platform", "screen", "plan", "product", "media", "client", "location"),
        *("ip", "data", "file", "payment", "subscription", "bot", "agent", "card", "order"),
    )
)
"""Words before them in columns of facts: `device_type`."""
NAME_WORDS = frozenset(("event", "goal", "activity", "verb", "operation", "conversion", "method"))
"""Words of columns that may have names of events."""
RECORD_WORDS = frozenset(
    ("record", "metric", "measurement", "level", "severity", "logger", "message", "heartbeat")
)
"""Words of columns of other records than page views: logs, measurements, mixed exports."""
OTHER_LAST_WORDS = frozenset(
    (
        *("id", "time", "timestamp", "ts", "date", "at", "data", "properties", "params", "url"),
        *("version", "count", "value", "number", "index", "source"),
    )
)
"""Last words of columns that have no names, although they are about events: `event_date`."""
NO_NAMES = frozenset(("0", "1", "true", "false", "yes", "no"))
OTHER_RECORDS = frozenset(
    (
        *("heartbeat", "ping", "web_vital", "web_vitals", "performance", "timing", "identify"),
        *("session_start", "session_end", "exception", "log", "trace", "span"),
    )
)
"""Texts by which a line, under whatever column, says that it is no page view."""
OWN_EVENTS = frozenset(
    (
        *("identify", "alias", "group", "reset", "heartbeat", "web_vital", "web_vitals"),
        *("session_start", "session_end", "first_visit", "first_open", "user_engagement"),
    )
)
"""Names that libraries of products send by themselves; so are those with a `$` before them."""
PAGE_VIEW_WORDS = frozenset(("pageview", "page_view", "page", "screen_view"))
EVENT_WORDS = frozenset(("event", "track", "custom", "custom_event", "customevent"))
"""Kinds of lines that are what they become: the first without a name, the others with one."""
KIND_MESSAGE = (
    "the column '{}' says what each line is (here '{}'), and is not read: lines would become page "
    "views or events that they are not. If it has the names of events, use --map {}=name; else "
    "write the lines of events and page views into a file without this column"
)
NO_NAME_MESSAGE = (
    "the column '{}' has '{}', which is no name of an event; if it marks events, use "
    "--map COLUMN=name with the column that has their names"
)
NESTED_NAME_MESSAGE = (
    "the column '{}' has '{}', and no name of an event; write its members into columns of their own"
)
UNREAD_NAME_MESSAGE = (
    "the column '{}' (here '{}') is not read, and the line would become a page view. If it has the "
    "names of events, use --map {}=name; else remove the column"
)
OWN_EVENT_MESSAGE = (
    "'{}' is sent by the libraries of a product, and is no event of a visitor; if it is one, give "
    "it another name in the file, or use --map COLUMN=name with another column that has the names"
)
NEITHER_NAME_NOR_PAGE = (
    "the line has neither the name of an event nor a page, and would become a page view of no "
    "page; name the column with --map COLUMN=name or --map COLUMN=path"
)
INVALID_TIME_MESSAGE = (
    "the time '{}' cannot be read; write ISO 8601 like 2026-06-05T10:00:00Z, "
    "or Unix seconds, milliseconds or microseconds"
)


CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class InvalidMapping(Exception):
    """`--map` names an unknown column or field, or a required field has no column."""


class ColumnPlan(Struct, frozen=True):
    """Column → field, for lines with the same columns."""

    columns: Mapping[str, ImportField]
    is_own_export: bool
    ignored: Sequence[str]
    kinds: Sequence[str] = ()
    """Ignored columns that say what each line is."""
    names: Sequence[str] = ()
    """Ignored columns that may have names of events."""
    unknown: Sequence[str] = ()
    """Ignored columns, except of our own export."""


class ColumnMapper:
    """Converts lines to events, and counts values that it leaves out."""

    def __init__(
        self, overrides: Mapping[str, str], visitor_of: Callable[[str], str] | None = None
    ) -> None:
        """`visitor_of` makes visitor ids of addresses, user agents and days; default: none."""
        for name in overrides.values():
            if name not in FIELD_BY_NAME:
                known = ", ".join(FIELD_BY_NAME)
                raise InvalidMapping(f"'{name}' is not a field; the fields are {known}")
        self.overrides = overrides
        self._visitor_of = visitor_of
        self._visits = LogVisits()
        self._plans: dict[tuple[str, ...], ColumnPlan] = {}
        self.skipped_values: Counter[str] = Counter()
        """Field → number of values that could not be parsed."""
        self.mapped: dict[str, str] = {}
        """Column → field."""
        self.ignored: set[str] = set()
        """Columns that match no field."""
        self.export_format: ExportFormat | None = None
        """The format of the file; lines with other columns are rejected."""

    def event(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The event as sent to the collector; InvalidLine if the line is none."""
        converted = self.known_columns(fields)
        is_known_format, fields = converted is not fields, self._with_visitor(converted)
        plan = self._plan(tuple(fields))
        if not is_known_format:
            refuse_kind(plan, fields)
            refuse_no_event(plan, fields)
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
            if self.export_format is not None:
                raise InvalidLine(f"the line has not the columns of {self.export_format.product}")
            return fields
        mapped = {column: fields[column] for column in self.overrides if column in fields}
        return {**export_format.convert(fields), **mapped}

    def _with_visitor(self, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        """A line of an access log with visitor, for its day, and visit."""
        if VISITOR_PARTS not in columns:
            return columns
        parts = columns[VISITOR_PARTS]
        others = {name: cell for name, cell in columns.items() if name != VISITOR_PARTS}
        if not parts or self._visitor_of is None:
            return others
        try:
            time = parse_instant(columns["timestamp"])
        except ValueError:  # named where the time is read
            return others
        ms = parse_instant_ms(time) if isinstance(time, str) else round(time or 0)
        visitor = self._visitor_of(f"{ms // DAY_MS}\0{parts}")
        visit = self._visits.visit_of(visitor, ms)
        return {**others, "anonymous_id": visitor, "session_id": visit}

    def pass_over(self, fields: Mapping[str, Any]) -> None:
        """A line that was sent before: visits of an access log go on after it."""
        if self.export_format and self.export_format.has_log_visitors:
            with suppress(InvalidLine):
                self._with_visitor(self.known_columns(fields))

    def _plan(self, columns: tuple[str, ...]) -> ColumnPlan:
        if (plan := self._plans.get(columns)) is None:
            plan = self._plans[columns] = plan_columns(columns, self.overrides)
            self.mapped |= {column: field.name for column, field in plan.columns.items()}
            self.ignored |= set(plan.ignored)
        return plan


def plan_columns(columns: Sequence[str], overrides: Mapping[str, str]) -> ColumnPlan:
    """Find the fields of these columns; `overrides` have priority over known column names."""
    by_name = {normalize_column(column): column for column in reversed(columns)}
    chosen = {
        column: FIELD_BY_NAME[name] for column, name in overrides.items() if column in columns
    }
    taken = set(overrides.values())
    if set(by_name) >= SESSION_AS_VISITOR_COLUMNS and "anonymous_id" not in by_name:
        for column, name in (("session_id", "anonymousId"), ("visit_id", "sessionId")):
            if name not in taken:
                chosen.setdefault(by_name[column], FIELD_BY_NAME[name])
                taken.add(name)
    for field in IMPORT_FIELDS:
        match = next(
            (by_name[c] for c in (normalize_column(field.name), *field.columns) if c in by_name),
            None,
        )
        if match is not None and field.name not in taken:
            chosen.setdefault(match, field)
    is_own_export = by_name.keys() >= EXPORT_COLUMNS
    ignored = [column for column in columns if column not in chosen]
    unknown = [] if is_own_export else ignored
    return ColumnPlan(
        chosen,
        is_own_export,
        ignored,
        [column for column in unknown if _has_kinds(column)],
        [column for column in unknown if _may_have_names(column)],
        unknown,
    )


def column_words(column: str) -> list[str]:
    """`eventType` and `Event type` → `event`, `type`."""
    return normalize_column(CAPITAL.sub("_", column)).split("_")


def _has_kinds(column: str) -> bool:
    """Whether the column has kinds of lines, by its name."""
    *before, last = column_words(column)
    is_fact = not FACT_WORDS.isdisjoint(before)
    return normalize_column(column) in KIND_COLUMNS or (last in KIND_WORDS and not is_fact)


def _may_have_names(column: str) -> bool:
    """Whether the column may have names of events, by its name."""
    words = column_words(column)
    is_record = not RECORD_WORDS.isdisjoint(words) and FACT_WORDS.isdisjoint(words)
    return (is_record or not NAME_WORDS.isdisjoint(words)) and words[-1] not in OTHER_LAST_WORDS


def normalize_column(column: str) -> str:
    """`Event Name` → `event_name`."""
    return re.sub(r"[^a-z0-9]+", "_", column.strip().lower()).strip("_")


def refuse_kind(plan: ColumnPlan, fields: Mapping[str, Any]) -> None:
    """InvalidLine if a column says that the line is not what it would become."""
    named = next((column for column, field in plan.columns.items() if field.name == "name"), None)
    cell = fields[named] if named else None
    name = _cell_text(cell)
    if name and isinstance(cell, dict | list):
        raise InvalidLine(NESTED_NAME_MESSAGE.format(named, name[:60]))
    if name and name.lower() in NO_NAMES:
        raise InvalidLine(NO_NAME_MESSAGE.format(named, name))
    is_page_view = name is None or normalize_column(name) in PAGE_VIEW_WORDS
    for column in plan.kinds:
        kind = _cell_text(fields[column])
        words = PAGE_VIEW_WORDS if is_page_view else EVENT_WORDS
        if kind and normalize_column(kind) not in words:
            raise InvalidLine(KIND_MESSAGE.format(column, kind[:60], column))
    for column in plan.names if name is None else ():
        text = _cell_text(fields[column])
        if text and normalize_column(text) not in (*PAGE_VIEW_WORDS, *NO_NAMES, "get"):
            raise InvalidLine(UNREAD_NAME_MESSAGE.format(column, text[:60], column))
    for column in plan.unknown if name is None else ():
        text = parse_text(fields[column])
        if text and normalize_column(text) in OTHER_RECORDS:
            raise InvalidLine(KIND_MESSAGE.format(column, text, column))


def _cell_text(cell: Any) -> str | None:
    """The text of a cell, also of a list or an object that is not empty."""
    return str(cell) if isinstance(cell, dict | list) and cell else parse_text(cell)


def refuse_no_event(plan: ColumnPlan, fields: Mapping[str, Any]) -> None:
    """InvalidLine for an event of a library, and without a name, a page and a kind.

    The latter would become a page view of no page.
    """
    for column, field in plan.columns.items():
        name = parse_text(fields[column]) if field.name == "name" else None
        if name and not plan.is_own_export and is_own_event(name):
            raise InvalidLine(OWN_EVENT_MESSAGE.format(name[:60]))
    read = (column for column, field in plan.columns.items() if field.name in ("name", "path"))
    if not any(parse_text(fields[column]) for column in (*read, *plan.kinds)):
        raise InvalidLine(NEITHER_NAME_NOR_PAGE)


def is_own_event(name: str) -> bool:
    """Whether the library of a product sends an event of this name by itself."""
    is_view = normalize_column(name) in (*PAGE_VIEW_WORDS, "pageleave")
    return (name.startswith("$") and not is_view) or normalize_column(name) in OWN_EVENTS


def _complete_event(event: dict[str, Any], ours: bool) -> dict[str, Any]:
    """Combine host, path and query of products that export them separately."""
    name = event.setdefault("name", PAGE_VIEW)
    if not ours and "_".join(column_words(name)) in ("page_view", "pageview"):
        event["name"] = PAGE_VIEW
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
