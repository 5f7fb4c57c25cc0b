"""Google Analytics: reports with a day in each line, of GA4 and of Universal Analytics.

Both write comments before the header, with the time range. A line without a day is the sum of the
others. Averages times sessions are the sums that they are averages of.
"""

from collections.abc import Mapping
from typing import Any

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import Columns
from deploy.importer.totals import totals_format as common
from deploy.importer.totals.totals_format import (
    ParseDay,
    Split,
    TotalsFormat,
    day_index,
    nth_day,
    parse_count,
    parse_day,
    parse_seconds,
)

DAYS: Mapping[str, ParseDay] = {
    "date": parse_day,
    "date_yyyymmdd": parse_day,
    "day_index": day_index,
    "day": day_index,
    "nth_day": nth_day,
}
COUNTS: Mapping[str, tuple[str, ...]] = {
    "visitors": ("total_users", "users", "active_users"),
    "visits": ("sessions",),
    "page_views": ("views", "screen_page_views", "screenpageviews", "pageviews", "page_views"),
    "bounces": ("bounces",),
    "visit_seconds": ("session_seconds",),
    "events": (),
}
AVERAGES = ("average_session_duration", "avg_session_duration")
SOURCE_AND_MEDIUM = (
    Split("referrer_name", lambda cell: common.parse_source(_before_slash(cell))),
    Split("utm_medium", lambda cell: _medium(_after_slash(cell))),
)
NO_TAGS = frozenset(("organic", "referral"))
"""Mediums that Google makes of the referrer."""


def _before_slash(cell: Any) -> str:
    return str(cell or "").partition(" / ")[0]


def _after_slash(cell: Any) -> str:
    return str(cell or "").partition(" / ")[2]


def _medium(cell: Any) -> str | None:
    tag = common.parse_tag(cell)
    return None if tag in NO_TAGS else tag


def report_columns(line: Columns) -> Columns:
    """Sums in place of averages; InvalidLine for the sum of all lines."""
    if not any(parse_text(line.get(column)) for column in DAYS):
        raise InvalidLine("the line has no day: it is the sum of others")
    sums: dict[str, Any] = {}
    try:
        sessions = parse_count(line.get("sessions"))
        average = next((line[name] for name in AVERAGES if name in line), None)
        if sessions is not None and (seconds := parse_seconds(average)) is not None:
            sums["session_seconds"] = round(sessions * seconds)
        engaged = parse_count(line.get("engaged_sessions"))
        if sessions is not None and engaged is not None:
            sums["bounces"] = max(sessions - engaged, 0)
    except ValueError as error:
        raise InvalidLine(f"a count cannot be read: {error}") from None
    return {**line, **sums}


def _named(split: Split, *names: str) -> Mapping[str, tuple[Split, ...]]:
    return dict.fromkeys(names, (split,))


FORMAT = TotalsFormat(
    "Google Analytics",
    tuple(
        frozenset((column,))
        for column in (
            *("total_users", "users", "active_users", "sessions", "views", "screen_page_views"),
            *("screenpageviews", "pageviews", "event_count"),
        )
    ),
    DAYS,
    COUNTS,
    {
        **_named(
            common.PATH,
            *("page", "page_path", "page_path_and_screen_class", "page_path_query_string"),
            *("page_location", "page_path_query_string_and_screen_class"),
        ),
        **_named(common.ENTRY_PAGE, "landing_page", "landing_page_query_string"),
        **_named(common.EXIT_PAGE, "exit_page"),
        **_named(common.SOURCE, "source", "session_source"),
        "source_medium": SOURCE_AND_MEDIUM,
        "session_source_medium": SOURCE_AND_MEDIUM,
        **_named(Split("utm_medium", _medium), "medium", "session_medium"),
        **_named(Split("utm_campaign", common.parse_tag), "campaign", "session_campaign"),
        **_named(
            common.CHANNEL,
            *("default_channel_grouping", "default_channel_group"),
            *("session_default_channel_group", "session_default_channel_grouping"),
        ),
        **_named(common.COUNTRY, "country"),
        **_named(common.REGION, "region"),
        **_named(common.CITY, "city"),
        **_named(common.DEVICE, "device_category"),
        **_named(common.BROWSER, "browser"),
        **_named(common.BROWSER_VERSION, "browser_version"),
        **_named(common.SYSTEM, "operating_system"),
        **_named(common.SYSTEM_VERSION, "operating_system_version", "os_version"),
        **_named(common.LANGUAGE, "language_code"),
        **_named(common.HOST, "hostname"),
        **_named(Split("name", common.EVENT_NAME.parse, {"events": "event_count"}), "event_name"),
    },
    report_columns,
    note="users of several lines of a day are added up, as it has no other count of them",
)
