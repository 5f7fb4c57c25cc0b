"""The computed `sessions` table: one row per session, computed from `scoped` events.

Only the columns that a query names are computed; the facts of the visit are those that all tables
have. A derived table of closed days could replace this relation: code above it knows only its
columns.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct

from query.scope.scope import MS
from query.scope.visits import BY_COLUMN, FACTS, VisitFact
from query.sql.portable import names_in
from query.sql.select import Cte
from query.standard.sql.definitions import BOUNCE_MS, DURATION_MS, OTHER_COUNT, VIEW_COUNT
from schemas.tables import EVENTS, ColumnType
from schemas.tables.column import WEBSITE_COLUMN

PREFIX = "s_"
"""Prefix of the columns of the relation, so that none equals a column of `scoped`."""


class SessionColumn(Struct, frozen=True):
    """One column: its expression over the rows of one session."""

    name: str
    type: ColumnType
    description: str
    sql: str


HIDDEN_COLUMNS = (
    SessionColumn(
        "visitor_hash",
        ColumnType.LONG,
        "its visitor: that of `anonymous_id`",
        "FIRST_BY(visitor_hash, anonymous_id) FILTER (WHERE anonymous_id IS NOT NULL)",
    ),
)
"""Columns that only conditions of ours name."""

COLUMN_NAMES = {"entry_page": "entry_path", "exit_page": "exit_path", "landing_host": "host"}
"""Facts of the visit that are columns under another name."""

FACT_COLUMNS = {COLUMN_NAMES.get(fact.name, fact.name): fact for fact in FACTS}
"""The columns that are facts of the visit."""


def _fact(name: str, fact: VisitFact) -> SessionColumn:
    # All rows of a session have the same value.
    return SessionColumn(name, ColumnType.STRING, fact.description, f"MIN({fact.sql_column})")


SESSION_COLUMNS = (
    SessionColumn(
        WEBSITE_COLUMN.name, ColumnType.STRING, WEBSITE_COLUMN.description, "MIN(website_id)"
    ),
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
    *(_fact(name, fact) for name, fact in FACT_COLUMNS.items()),
)


def event_columns(columns: Collection[str]) -> Sequence[str]:
    """The columns of `scoped` that these columns of sessions need."""
    used = _names(columns) | {"session_hash", "name"}
    available = [*(column.name for column in EVENTS.columns), MS, *BY_COLUMN]
    return [name for name in available if name in used]


def session_cte(columns: Collection[str]) -> Cte:
    """The CTE that computes `sessions` with these columns from `scoped`."""
    wanted = [c for c in (*SESSION_COLUMNS, *HIDDEN_COLUMNS) if c.name in columns]
    expressions = ", ".join(
        [f"{c.sql} AS {PREFIX}{c.name}" for c in wanted] or ["1 AS placeholder"]
    )
    sessions = f"""
        SELECT {expressions}
          FROM scoped
         WHERE session_hash IS NOT NULL
         GROUP BY session_hash
        HAVING {VIEW_COUNT} > 0
    """  # noqa: S608
    return Cte("sessions", sessions)


def _names(columns: Collection[str]) -> frozenset[str]:
    """What the expressions of these columns name."""
    known = (*SESSION_COLUMNS, *HIDDEN_COLUMNS)
    used = (names_in(column.sql) for column in known if column.name in columns)
    return frozenset[str]().union(*used)
