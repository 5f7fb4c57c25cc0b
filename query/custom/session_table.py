"""The computed `sessions` table: one row per session, computed from `scoped` events.

Only the columns that a query names are computed; rows are ranked inside a session (by `ts`, then
row key) only for first and last values. A derived table of closed days could replace this relation:
code above it knows only its columns.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct

from query.sql.portable import names_in
from query.sql.row_definitions import PAGE_VIEW, ROW_ORDER
from query.sql.select import Cte
from query.standard.sql.definitions import BOUNCE_MS, DURATION_MS, OTHER_COUNT, VIEW_COUNT
from schemas.tables import EVENTS, ColumnType

PREFIX = "s_"
"""Prefix of the columns of the relation, so that none equals a column of `scoped`."""

FIRST_ROW_COLUMNS = {
    "entry_rank": f"ROW_NUMBER() OVER (PARTITION BY session_hash, {PAGE_VIEW} ORDER BY "
    f"{ROW_ORDER})",
    "exit_rank": (
        f"ROW_NUMBER() OVER (PARTITION BY session_hash, {PAGE_VIEW} ORDER BY "
        f"{', '.join(f'{column} DESC' for column in ROW_ORDER.split(', '))})"
    ),
}
"""Row ranks inside a session, by the name that expressions use."""


class SessionColumn(Struct, frozen=True):
    """One column: its expression over the rows of one session."""

    name: str
    type: ColumnType
    description: str
    sql: str


def _first(name: str) -> SessionColumn:
    meaning = next(column.description for column in EVENTS.columns if column.name == name)
    value = f"MAX(CASE WHEN entry_rank = 1 AND {PAGE_VIEW} THEN {name} END)"
    return SessionColumn(name, ColumnType.STRING, f"{meaning}; of its first page view", value)


def _view(name: str, meaning: str) -> SessionColumn:
    rank = f"{name.removesuffix('_path')}_rank"
    value = f"MAX(CASE WHEN {rank} = 1 AND {PAGE_VIEW} THEN path END)"
    return SessionColumn(name, ColumnType.STRING, meaning, value)


FIRST_VALUE_COLUMNS = (
    "host",
    "referrer",
    "referrer_name",
    "referrer_type",
    "channel",
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "click_id",
    "browser_name",
    "browser_version",
    "os_name",
    "os_version",
    "device_type",
    "country",
    "region",
    "city",
    "language",
    "timezone",
)

SESSION_COLUMNS = (
    SessionColumn("session_id", ColumnType.STRING, "session", "MIN(session_id)"),
    SessionColumn("anonymous_id", ColumnType.STRING, "visitor", "MIN(anonymous_id)"),
    SessionColumn(
        "profile_id",
        ColumnType.STRING,
        "the sender's own id; ids sent with a key take precedence",
        "COALESCE(MIN(profile_id) FILTER (WHERE trusted), MIN(profile_id))",
    ),
    SessionColumn("started_at", ColumnType.TIMESTAMP, "its first event", "MIN(ts)"),
    SessionColumn("ended_at", ColumnType.TIMESTAMP, "its last event", "MAX(ts)"),
    SessionColumn(
        "duration", ColumnType.DECIMAL, "seconds", f"CAST({DURATION_MS} AS DOUBLE) / 1000"
    ),
    SessionColumn("page_views", ColumnType.LONG, "its page views", VIEW_COUNT),
    SessionColumn("events", ColumnType.LONG, "all its events", "COUNT(*)"),
    SessionColumn(
        "is_bounce",
        ColumnType.BOOLEAN,
        "one page view, nothing else but its exit, under 10 seconds",
        f"({VIEW_COUNT} = 1 AND {OTHER_COUNT} = 0 AND {DURATION_MS} < {BOUNCE_MS})",
    ),
    _view("entry_path", "path of its first page view"),
    _view("exit_path", "path of its last page view"),
    *(_first(name) for name in FIRST_VALUE_COLUMNS),
)


def event_columns(columns: Collection[str]) -> Sequence[str]:
    """The columns of `scoped` that these columns of sessions need."""
    used = _names(columns) | {"session_hash", "name"}
    if used & FIRST_ROW_COLUMNS.keys():
        used |= names_in(f"({ROW_ORDER})")
    known = [*(column.name for column in EVENTS.columns), "ms"]
    return [name for name in known if name in used]


def session_ctes(columns: Collection[str]) -> tuple[Cte, ...]:
    """The CTEs that compute `sessions` with these columns from `scoped`."""
    ranks = [name for name in FIRST_ROW_COLUMNS if name in _names(columns)]
    source = "scoped"
    ranked: tuple[Cte, ...] = ()
    if ranks:
        selected = [*event_columns(columns), *(f"{FIRST_ROW_COLUMNS[n]} AS {n}" for n in ranks)]
        ranked = (Cte("ranked", f"SELECT {', '.join(selected)} FROM scoped"),)  # noqa: S608
        source = "ranked"
    wanted = [column for column in SESSION_COLUMNS if column.name in columns]
    expressions = ", ".join([f"{c.sql} AS {PREFIX}{c.name}" for c in wanted] or ["1 AS nothing"])
    sessions = f"""
        SELECT {expressions}
          FROM {source}
         WHERE session_hash IS NOT NULL
         GROUP BY session_hash
        HAVING {VIEW_COUNT} > 0
    """  # noqa: S608
    return (*ranked, Cte("sessions", sessions))


def _names(columns: Collection[str]) -> frozenset[str]:
    """What the expressions of these columns name."""
    used = (names_in(column.sql) for column in SESSION_COLUMNS if column.name in columns)
    return frozenset[str]().union(*used)
