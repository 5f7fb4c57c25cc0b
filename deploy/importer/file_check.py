"""Checks the first 1,000 lines of a file before an import is created.

Totals that no known report has (`totals/`) are refused: a row for 30 page views is not one event.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from deploy.importer.column_mapping import (
    KIND_MESSAGE,
    PAGE_VIEW_WORDS,
    ColumnMapper,
    InvalidMapping,
    column_words,
    normalize_column,
    plan_columns,
    refuse_kind,
    refuse_no_event,
)
from deploy.importer.csv_rows import InvalidFile
from deploy.importer.fields import FIELD_BY_NAME, IMPORT_FIELDS
from deploy.importer.formats.cell_values import InvalidLine, parse_instant, parse_text
from deploy.importer.formats.export_format import ExportFormat
from deploy.importer.formats.export_formats import format_of
from deploy.importer.member_lines import FileLine
from deploy.importer.source_file import SourceFile
from schemas.runtime.clock import parse_instant_ms

COUNT_COLUMNS = frozenset(
    (
        *("pageviews", "page_views", "views", "screen_page_views", "unique_pageviews"),
        *("visitors", "unique_visitors", "users", "total_users", "active_users", "new_users"),
        *("visits", "sessions", "engaged_sessions", "bounces", "bounce_rate", "visit_duration"),
        *("event_count", "total_events", "unique_events", "hits", "conversions", "exit_rate"),
        *("average_session_duration", "views_per_session", "views_per_visit", "views_per_user"),
        *("unique_conversions", "total_conversions", "entrances", "exits"),
        *("uniques", "completions"),
        *("nb_visits", "nb_uniq_visitors", "nb_users", "nb_actions", "nb_hits", "sum_visit_length"),
    )
)
"""Columns that count or average over several events, by their normalized names."""

IDENTIFYING_COLUMNS = frozenset(
    (
        *("event_id", "eventid", "insert_id", "uuid"),
        *("anonymous_id", "anonymousid", "visitor_id", "user_pseudo_id", "distinct_id"),
        *("session_id", "sessionid", "visit_id", "ga_session_id"),
    )
)
"""Columns of single events: beside them one counting column may be a fact of the visitor."""
EVENT_NAMES = frozenset(("event_name", "event"))
"""Columns of single events in exports of known products; others have totals by event name, too."""

COUNT_WORDS = frozenset(
    (
        *("count", "counts", "cnt", "total", "totals", "sum", "number", "num", "n", "quantity"),
        *("events", "hits", "clicks", "views", "times", "occurrences", "impressions", "value"),
        *("requests", "visitors", "visits", "sessions", "users", "uniques"),
    )
)
"""Words of columns that count events, where lines have neither an id nor a time of day."""
COUNTED_FIELDS = frozenset(("eventId", "anonymousId", "sessionId", "profileId"))
"""Fields that totals have not."""
HALF_HOUR_MS = 1_800_000
"""Totals are by day or hour; of some time zones these begin at half past in UTC."""


class Product(Struct, frozen=True):
    """A product whose exports of totals are recognized, and its export of single events."""

    columns: frozenset[str]
    """All of them are in its totals."""
    name: str
    advice: str


PRODUCTS = (
    Product(
        frozenset(("date", "visitors", "pageviews")),
        "Plausible (imported_*.csv)",
        "Plausible exports no single events",
    ),
    Product(
        frozenset(("date", "visitors", "events")),
        "Plausible (imported_*.csv)",
        "Plausible exports no single events",
    ),
    Product(
        frozenset(("nb_visits",)),
        "Matomo (a report)",
        "export its visits log instead, or the report with a line for each day",
    ),
    Product(
        frozenset(("total_users",)),
        "Google Analytics (a report)",
        "export single events with BigQuery instead, or the report with the dimension Date",
    ),
    Product(
        frozenset(("active_users",)),
        "Google Analytics (a report)",
        "export single events with BigQuery instead, or the report with the dimension Date",
    ),
)


def refuse_totals(columns: Iterable[str], mapper: ColumnMapper) -> None:
    """InvalidMapping if the columns look like totals; mapped ones belong to events."""
    mapped = mapper.overrides
    identifying = IDENTIFYING_COLUMNS | (EVENT_NAMES if mapper.export_format else frozenset())
    names = {normalize_column(column): column for column in columns if column not in mapped}
    counts = [column for name, column in names.items() if name in COUNT_COLUMNS]
    if not counts or (len(counts) == 1 and not names.keys().isdisjoint(identifying)):
        return
    product = next((product for product in PRODUCTS if product.columns <= names.keys()), None)
    whose = f"; they look like those of {product.name}: {product.advice}" if product else ""
    raise InvalidMapping(TOTALS_MESSAGE.format(", ".join(counts), whose))


TOTALS_MESSAGE = (
    "the file has totals ({}), not one event per line, and an import would count each line as one "
    "event{}. Remove these columns if each line is one event"
)


def refuse_counts(lines: Sequence[FileLine], mapper: ColumnMapper) -> None:
    """InvalidMapping if lines have whole numbers under a counting word, and nothing of one event.

    That is an id of event, visitor or visit, or a time that is no day or hour.
    """
    counts: dict[str, bool] = {}
    for line in lines:
        plan = plan_columns(tuple(line.fields), mapper.overrides)
        fields = {field.name: column for column, field in plan.columns.items()}
        if plan.is_own_export or not COUNTED_FIELDS.isdisjoint(fields):
            return
        if "timestamp" not in fields:
            continue
        if not _is_day_or_hour(line.fields[fields["timestamp"]]):
            return
        for column in plan.ignored:
            if not COUNT_WORDS.isdisjoint(column_words(column)):
                is_whole = _is_whole_number(line.fields[column])
                counts[column] = is_whole and counts.get(column, True)
    if totals := [column for column, are_whole in counts.items() if are_whole]:
        raise InvalidMapping(TOTALS_MESSAGE.format(", ".join(totals), ""))


def _is_day_or_hour(cell: Any) -> bool:
    """Whether a time is a day or the begin of an hour; also what is no time: others refuse it."""
    if DAY_DIGITS.fullmatch(str(cell)):
        return True
    try:
        time = parse_instant(cell)
        ms = parse_instant_ms(time) if isinstance(time, str) else time or 0
    except (ValueError, OverflowError):
        return True
    return ms % HALF_HOUR_MS == 0


def _is_whole_number(cell: Any) -> bool:
    """Also in groups of thousands, as spreadsheets write them; True for an empty cell."""
    text = parse_text(cell)
    return text is None or WHOLE_NUMBER.fullmatch(text) is not None


DAY_DIGITS = re.compile(r"20\d{6}")
WHOLE_NUMBER = re.compile(r"\d+|\d{1,3}([,. \u00a0']\d{3})+|\d+\.0+")


SAMPLE_LINES = 1_000
"""Lines that are checked: lines of NDJSON may have different columns."""


def check_file(file: SourceFile, mapper: ColumnMapper) -> None:
    """InvalidFile or InvalidMapping when no line could be imported; of each file of a container."""
    samples = list(file.samples(SAMPLE_LINES))
    if not any(lines for _, lines in samples):
        raise InvalidFile(f"{file.name} contains no events")
    file.left_out += [name for name, lines in samples if not lines]
    for name, lines in samples:
        try:
            check_lines(name, lines, file, mapper)
        except InvalidMapping as error:
            where = f"{name}: " if len(samples) > 1 else ""
            raise InvalidMapping(f"{where}{error}") from None


def check_lines(
    name: str, lines: Sequence[FileLine], file: SourceFile, mapper: ColumnMapper
) -> None:
    """InvalidFile or InvalidMapping when no line of one file could be imported."""
    if not lines:
        return
    columns = list(dict.fromkeys(column for line in lines for column in line.fields))
    if not columns:
        why = lines[0].reason or "an object without fields"
        raise InvalidFile(
            f"{name} cannot be read as {file.format.upper()}: "
            f"line {lines[0].number}: {why}; use --format to set the format"
        )
    formats = formats_of(lines)
    if refusal := next((format_ for format_ in formats if format_.refusal), None):
        raise InvalidMapping(f"the file is an export of {refusal.product}: {refusal.refusal}")
    mapper.export_format = mapper.export_format or next(iter(formats), None)
    if mapper.export_format:
        refuse_no_events(lines, mapper)
    check_columns(list(dict.fromkeys([*columns, *columns_of_formats(lines, mapper)])), mapper)
    if mapper.export_format is None:
        refuse_counts(lines, mapper)
        refuse_kinds(lines, mapper)
        refuse_mixed_lines(lines, mapper)
        refuse_no_events(lines, mapper)


def refuse_kinds(lines: Sequence[FileLine], mapper: ColumnMapper) -> None:
    """InvalidMapping if a column says what lines are, and is not read."""
    for line in lines:
        if line.fields:
            plan = plan_columns(tuple(line.fields), mapper.overrides)
            try:
                refuse_kind(plan, line.fields)
            except InvalidLine as error:
                raise InvalidMapping(f"line {line.number}: {error}") from None


def refuse_mixed_lines(lines: Sequence[FileLine], mapper: ColumnMapper) -> None:
    """InvalidMapping if a column, whatever its name, says `pageview` of some lines only."""
    texts: dict[str, dict[str, str]] = {}
    for line in lines:
        plan = plan_columns(tuple(line.fields), mapper.overrides)
        named = [column for column, field in plan.columns.items() if field.name == "name"]
        for column in () if any(parse_text(line.fields[name]) for name in named) else plan.unknown:
            if text := parse_text(line.fields[column]):
                texts.setdefault(column, {}).setdefault(normalize_column(text), text)
    for column, found in texts.items():
        others = [text for name, text in found.items() if name not in PAGE_VIEW_WORDS]
        if len(found) > len(others) > 0:
            raise InvalidMapping(KIND_MESSAGE.format(column, others[0][:60], column))


def refuse_no_events(lines: Sequence[FileLine], mapper: ColumnMapper) -> None:
    """InvalidMapping if no line is an event, with the reason of the first one."""
    reasons: list[str] = []
    for line in lines:
        try:
            mapper.known_columns(line.fields)
            if mapper.export_format is None:
                refuse_no_event(plan_columns(tuple(line.fields), mapper.overrides), line.fields)
        except InvalidLine as error:
            reasons.append(f"line {line.number}: {error}")
        else:
            return
    raise InvalidMapping(f"no line of the file is an event; {reasons[0]}")


def formats_of(lines: Sequence[FileLine]) -> Sequence[ExportFormat]:
    """The export formats of these lines."""
    found = dict.fromkeys(tuple(line.fields) for line in lines)
    return [format_ for columns in found if (format_ := format_of(columns))]


def columns_of_formats(lines: Sequence[FileLine], mapper: ColumnMapper) -> Sequence[str]:
    """The columns of the lines as their export format has them."""
    names: dict[str, None] = {}
    for line in lines:
        with suppress(InvalidLine):
            names |= dict.fromkeys(mapper.known_columns(line.fields))
    return list(names)


def check_columns(columns: Sequence[str], mapper: ColumnMapper) -> None:
    """InvalidMapping unless the columns contain the required fields."""
    has = f"the file has the columns {', '.join(columns)}"
    if missing := [column for column in mapper.overrides if column not in columns]:
        raise InvalidMapping(f"the file has no column '{missing[0]}'; it has {', '.join(columns)}")
    refuse_totals(columns, mapper)
    fields = {field.name for field in plan_columns(columns, mapper.overrides).columns.values()}
    if not fields:
        known = ", ".join(field.columns[0] for field in IMPORT_FIELDS)
        raise InvalidMapping(
            f"no column is recognized; {has}; known names are {known}; or use --map COLUMN=FIELD"
        )
    if "timestamp" not in fields:
        known = ", ".join(FIELD_BY_NAME["timestamp"].columns)
        raise InvalidMapping(
            f"no column contains the time; {has}; known names are {known}; "
            "or use --map COLUMN=timestamp"
        )
