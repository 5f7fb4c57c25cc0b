"""TotalsFormat: how a report of a product is recognized, and which of its columns are what.

Columns are named as `normalize_column` writes them. What several reports need is beside it.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from msgspec import Struct

from deploy.importer.formats import cell_values, software_names
from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import Columns
from stream.enrich.rules.referrer_list import DIRECT, REFERRERS, source_of_host
from stream.enrich.rules.urls import host_of, normal_path, parse_page

MAX_COUNT = 10**15
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
CLOCK_TIME = re.compile(r"(\d+):(\d\d):(\d\d)")
BARE_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ].*)?")

ParseDay = Callable[[str, str], date]
"""The day of a cell; the second text is the comments before the header."""
ParseValue = Callable[[Any], str | None]


class Split(Struct, frozen=True):
    """A dimension that a column has the values of."""

    dimension: str
    """Of `schemas/tables/imported_totals.py`."""
    parse: ParseValue = parse_text
    """The value as live rows have it; InvalidValue where it has no such form."""
    counts: Mapping[str, str] | None = None
    """Count → column, where others than those of the report are right for this dimension."""


class InvalidValue(Exception):
    """The value has no form that live rows have, and is left out."""


def unchanged(line: Columns) -> Columns:
    """The line as it is."""
    return line


class TotalsFormat(Struct, frozen=True):
    """The report of a product."""

    product: str
    columns: tuple[frozenset[str], ...]
    """All columns of one of these sets are in each line, beside a day."""
    days: Mapping[str, ParseDay]
    """Columns that may have the day."""
    counts: Mapping[str, tuple[str, ...]]
    """Count → columns that may have it; the first that is there has it."""
    splits: Mapping[str, tuple[Split, ...]]
    prepare: Callable[[Columns], Columns] = unchanged
    """The line with the columns above; InvalidLine if it has no totals."""
    others: frozenset[str] = frozenset()
    """Columns that are left out although they have texts."""
    has_sums: bool = False
    """Whether the lines of a day add up to the whole website, though they are split."""
    note: str = ""
    """What whoever imports it should know."""

    def matches(self, names: frozenset[str]) -> bool:
        """Whether lines with these columns are of this report."""
        has_columns = any(columns <= names for columns in self.columns)
        return has_columns and not names.isdisjoint(self.days)


def parse_count(cell: Any) -> int | None:
    """A count; ValueError for what is none."""
    text = parse_text(cell)
    if text is None:
        return None
    value = float(text.replace(",", "") if THOUSANDS.fullmatch(text) else text)
    if not 0 <= value <= MAX_COUNT:
        raise ValueError("not a count")
    return round(value)


def parse_seconds(cell: Any) -> float | None:
    """Seconds, also from `00:01:23`."""
    text = parse_text(cell)
    if text and (found := CLOCK_TIME.fullmatch(text)):
        hours, minutes, seconds = map(int, found.groups())
        return hours * 3600 + minutes * 60 + seconds
    return None if text is None else float(text.replace(",", ""))


def parse_day(cell: str, _: str = "") -> date:
    """`2026-11-21`, `20261121`, or a time on that day."""
    found = BARE_DATE.fullmatch(cell.strip())
    if found is None:
        raise InvalidLine(f"the day '{cell[:40]}' cannot be read; write it like 2026-06-05")
    return _valid_day(cell, *map(int, found.groups()))


def day_index(cell: str, comments: str) -> date:
    """`6/5/26`, month first unless only the other order is in the time range of the comments."""
    found = re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})", cell.strip())
    if found is None:
        return parse_day(cell)
    month, day, year = (int(part) for part in found.groups())
    year += 2000 if year < 100 else 0
    span = re.search(r"(\d{8})-(\d{8})", comments)
    if month > 12 or (span and not _in_span(span, year, month, day)):
        month, day = day, month
    return _valid_day(cell, year, month, day)


def nth_day(cell: str, comments: str) -> date:
    """Days since the start date of the comments."""
    start = re.search(r"[Ss]tart date:\s*(\d{8})", comments)
    if start is None or not cell.strip().isdigit():
        raise InvalidLine(
            f"the day '{cell[:40]}' counts from a start date that the comments before the header "
            "do not have; export the report with the dimension Date"
        )
    return parse_day(start[1]) + timedelta(days=min(int(cell), 100_000))


def _in_span(span: re.Match[str], year: int, month: int, day: int) -> bool:
    return span[1] <= f"{year:04}{month:02}{day:02}" <= span[2]


def _valid_day(cell: str, year: int, month: int, day: int) -> date:
    try:
        return datetime(year, month, day).date()  # noqa: DTZ001 - a day, in no time zone
    except ValueError:
        raise InvalidLine(f"the day '{cell[:40]}' is none of the calendar") from None


SOURCE_NAMES = {
    **REFERRERS.sources,
    **{name.lower(): name for sources in REFERRERS.kinds.values() for name in sources},
}
"""Name in lower case, or alias → our name of a source."""


def parse_source(cell: Any) -> str:
    """The source by our name; `Direct` for none."""
    text = cell_values.parse_referrer(cell)
    if text is None:
        return DIRECT
    if name := SOURCE_NAMES.get(text.lower()):
        return name
    is_host = "." in text and " " not in text
    return source_of_host(parse_host(text.lower()) or "").name if is_host else text


def parse_referrer(cell: Any) -> str:
    """The referring URL; `Direct` for none."""
    text = cell_values.parse_referrer(cell)
    if text is None:
        return DIRECT
    return text if "://" in text else f"https://{text}"


def parse_path(cell: Any) -> str | None:
    """The path of a page, also of its URL."""
    text = parse_text(cell)
    if text is None:
        return None
    return parse_page(text).path if "://" in text else normal_path(text.partition("?")[0])


def parse_host(cell: Any) -> str | None:
    text = parse_text(cell)
    return host_of(text.partition("://")[2] or text) if text else None


def parse_tag(cell: Any) -> str | None:
    """The value of a campaign's tag; None for words in parentheses: `(not set)`, `(organic)`."""
    text = parse_text(cell)
    return None if text is None or text.startswith("(") else text


def parse_version(cell: Any) -> str | None:
    text = parse_text(cell)
    return text.removesuffix(".0") if text else None


def parse_city(cell: Any) -> str | None:
    text = parse_text(cell)
    if text and text.isdigit():
        if not int(text):
            return None
        raise InvalidValue("an id of GeoNames, and not the name of a city")
    return text


def checked(parse: ParseValue) -> ParseValue:
    """The same with InvalidValue for a value that is not recognized."""

    def parse_checked(cell: Any) -> str | None:
        try:
            return parse(cell)
        except ValueError as error:
            raise InvalidValue(str(error)) from None

    return parse_checked


HOST = Split("host", parse_host)
PATH = Split("path", parse_path)
ENTRY_PAGE = Split("entry_page", parse_path)
EXIT_PAGE = Split("exit_page", parse_path)
SOURCE = Split("referrer_name", parse_source)
REFERRER = Split("referrer", parse_referrer)
COUNTRY = Split("country", checked(cell_values.parse_country))
REGION = Split("region")
CITY = Split("city", parse_city)
DEVICE = Split("device_type", checked(cell_values.parse_device))
BROWSER = Split("browser_name", software_names.parse_browser)
BROWSER_VERSION = Split("browser_version", parse_version)
SYSTEM = Split("os_name", software_names.parse_os)
SYSTEM_VERSION = Split("os_version", parse_version)
LANGUAGE = Split("language")
CHANNEL = Split("channel")
EVENT_NAME = Split("name", cell_values.parse_event_name)
TAGS = {
    name: (Split(name, parse_tag),)
    for name in ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
}
