"""The computed `sessions` table: one row per session, merged from `session_rows`.

Only the columns that a query names are computed; the facts of the visit are those that all tables
have.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, structs

from query.engine.engine import Engine
from query.scope.row_scope import Scope
from query.scope.scope import SCOPED, ScopedRelations, WantedRelation, scoped_relations
from query.scope.session_rows import (
    DURATION_MS,
    OTHER_EVENTS,
    PAGE_VIEWS,
    SESSION_ROWS,
    session_rows,
)
from query.scope.visits import FACTS, VISIT_FACTS, VisitFact
from query.sql.portable import names_in
from query.sql.select import Cte
from query.standard.sql.definitions import BOUNCE_MS
from schemas.tables import ColumnType
from schemas.tables.column import WEBSITE_COLUMN

PREFIX = "s_"
"""Prefix of the columns of the relation, so that none equals a column of `session_rows`."""


class SessionColumn(Struct, frozen=True):
    """One column: its expression over the rows of one session, or the fact of its visit."""

    name: str
    type: ColumnType
    description: str
    sql: str


HIDDEN_COLUMNS = (
    SessionColumn(
        "visitor_hash",
        ColumnType.LONG,
        "its visitor: that of `anonymous_id`",
        "FIRST_BY(visitor_of_id, anonymous_id) FILTER (WHERE anonymous_id IS NOT NULL)",
    ),
)
"""Columns that only conditions of ours name."""

COLUMN_NAMES = {"entry_page": "entry_path", "exit_page": "exit_path", "landing_host": "host"}
"""Facts of the visit that are columns under another name."""

FACT_COLUMNS = {COLUMN_NAMES.get(fact.name, fact.name): fact for fact in FACTS}
"""The columns that are facts of the visit."""


OWN_COLUMNS = (
    SessionColumn(
        WEBSITE_COLUMN.name, ColumnType.STRING, WEBSITE_COLUMN.description, "MIN(website_id)"
    ),
    SessionColumn("session_id", ColumnType.STRING, "session", "MIN(session_id)"),
    SessionColumn("anonymous_id", ColumnType.STRING, "visitor", "MIN(anonymous_id)"),
    SessionColumn(
        "profile_id",
        ColumnType.STRING,
        "the sender's own id; ids sent with a key take precedence",
        "COALESCE(MIN(trusted_profile_id), MIN(profile_id))",
    ),
    SessionColumn("started_at", ColumnType.TIMESTAMP, "its first event", "MIN(started_at)"),
    SessionColumn("ended_at", ColumnType.TIMESTAMP, "its last event", "MAX(ended_at)"),
    SessionColumn(
        "duration", ColumnType.DECIMAL, "seconds", f"CAST({DURATION_MS} AS DOUBLE) / 1000"
    ),
    SessionColumn("page_views", ColumnType.LONG, "its page views", PAGE_VIEWS),
    SessionColumn("events", ColumnType.LONG, "all its events", "CAST(SUM(events) AS BIGINT)"),
    SessionColumn(
        "is_bounce",
        ColumnType.BOOLEAN,
        "one page view, no interaction, under 10 seconds",
        f"({PAGE_VIEWS} = 1 AND {OTHER_EVENTS} = 0 AND {DURATION_MS} < {BOUNCE_MS})",
    ),
)

SESSION_COLUMNS = (
    *OWN_COLUMNS,
    *(
        SessionColumn(name, ColumnType.STRING, fact.description, f"{VISIT_FACTS}.{fact.sql_column}")
        for name, fact in FACT_COLUMNS.items()
    ),
)


async def sessions(engine: Engine, scope: Scope, columns: Collection[str]) -> ScopedRelations:
    """The CTE `sessions` with these columns, after those that it reads."""
    own = [c for c in (*OWN_COLUMNS, *HIDDEN_COLUMNS) if c.name in columns]
    facts = {name: fact for name, fact in FACT_COLUMNS.items() if name in columns}
    cte = Cte("sessions", _sessions_sql(own, facts))
    rows = session_rows(engine, scope, names_in(cte.sql), SCOPED)
    sources = rows.sources or {SCOPED: WantedRelation(scope, sorted(rows.names - {SCOPED}))}
    scoped = await scoped_relations(engine, sources, list(facts.values()))
    return structs.replace(scoped, relations=(*scoped.relations, *rows.ctes, cte))


def _sessions_sql(own: Sequence[SessionColumn], facts: Mapping[str, VisitFact]) -> str:
    merged = ", ".join(["session_hash", *(f"{c.sql} AS {PREFIX}{c.name}" for c in own)])
    sessions = f"""
        SELECT {merged}
          FROM {SESSION_ROWS}
         GROUP BY session_hash
        HAVING SUM(page_views) > 0
    """  # noqa: S608
    if not facts:
        return sessions
    columns = [f"{VISIT_FACTS}.{fact.sql_column} AS {PREFIX}{name}" for name, fact in facts.items()]
    columns += [f"{PREFIX}{c.name}" for c in own]
    return f"""
        SELECT {", ".join(columns)}
          FROM ({sessions}) AS merged
          LEFT JOIN {VISIT_FACTS} ON {VISIT_FACTS}.visit_session = merged.session_hash
    """  # noqa: S608
