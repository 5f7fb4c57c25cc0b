"""Rows as sources of parts: those of each table that a metrics query reads.

Each relation has the columns `d0`, `d1`, ... of the dimensions.
"""

from collections.abc import Sequence

from query.metrics.metric import Part, Source
from query.scope.scope import SCOPED
from query.sql.fragment import Fragment
from query.sql.row_definitions import PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.statement import table_cte_name
from query.standard.sql.page_view_reports import VIEW_REPORTS, view_report_ctes
from schemas.tables import ERRORS, EVENTS, LEDGER, VITALS, Table


def relation_of(table: Table) -> str:
    """The relation with the rows of a table that meet the filters."""
    return SCOPED if table is EVENTS else table_cte_name(table)


def row_ctes(
    keys: Sequence[Fragment], sources: Sequence[Source], parts: Sequence[Part]
) -> list[Cte]:
    """A CTE for each of the sources that are rows, under its name."""
    ctes = []
    if Source.ROWS in sources:
        ctes.append(grouped(Source.ROWS, keys, parts, SCOPED))
    if Source.ERRORS in sources:
        ctes.append(grouped(Source.ERRORS, keys, parts, relation_of(ERRORS)))
    if Source.LEDGER in sources:
        ctes.append(grouped(Source.LEDGER, keys, parts, relation_of(LEDGER)))
    named = [Fragment(f"d{i}") for i in range(len(keys))]
    if Source.PAGE_VIEWS in sources:
        ctes += view_report_ctes({f"d{i}": key.text for i, key in enumerate(keys)})
        ctes.append(grouped(Source.PAGE_VIEWS, named, parts, VIEW_REPORTS))
    if Source.SESSIONS_SEEN in sources:
        ctes.append(_sessions_seen(keys))
        ctes.append(grouped(Source.SESSIONS_SEEN, named, parts, "sessions_seen"))
    if Source.VITALS in sources:
        ctes.append(_ranked_vitals(keys, [part for part in parts if part.source is Source.VITALS]))
        ctes.append(grouped(Source.VITALS, named, parts, "ranked_vitals"))
    return ctes


def grouped(source: Source, keys: Sequence[Fragment], parts: Sequence[Part], relation: str) -> Cte:
    """The parts of a source, by the dimensions; those of other sources are NULL."""
    columns = [f"{key.text} AS d{i}" for i, key in enumerate(keys)]
    columns += [f"{part.sql if part.source is source else 'NULL'} AS {part.name}" for part in parts]
    sql = f"SELECT {', '.join(columns)} FROM {relation}{group_by(len(keys))}"  # noqa: S608
    return Cte(source, sql)


def group_by(keys: int) -> str:
    """The clause that groups by the first columns."""
    return f" GROUP BY {', '.join(str(i + 1) for i in range(keys))}" if keys else ""


def _sessions_seen(keys: Sequence[Fragment]) -> Cte:
    """A row for each page view and each error report of a session."""
    columns = ", ".join([*(f"{key.text} AS d{i}" for i, key in enumerate(keys)), "session_hash"])
    sql = f"""
        SELECT {columns}, 0 AS has_error
          FROM {SCOPED}
         WHERE {PAGE_VIEW}
           AND session_hash IS NOT NULL
         UNION ALL
        SELECT {columns}, 1 AS has_error
          FROM {relation_of(ERRORS)}
         WHERE session_hash IS NOT NULL
    """  # noqa: S608
    return Cte("sessions_seen", sql)


def _ranked_vitals(keys: Sequence[Fragment], parts: Sequence[Part]) -> Cte:
    """The measurements that the parts need, ranked by value within each group and vital."""
    needed = " OR ".join(dict.fromkeys(part.only for part in parts))
    listed = "".join(f"{key.text} AS d{i}, " for i, key in enumerate(keys))
    partition = ", ".join([*(f"d{i}" for i in range(len(keys))), "metric_name"])
    named = "".join(f"d{i}, " for i in range(len(keys)))
    sql = f"""
        SELECT {named}metric_name,
               metric_value,
               ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY metric_value) AS row_rank,
               COUNT(*) OVER (PARTITION BY {partition})                           AS row_count
          FROM (
               SELECT {listed}metric_name, metric_value
                 FROM {relation_of(VITALS)}
                WHERE {needed}
               ) AS measurements
    """  # noqa: S608
    return Cte("ranked_vitals", sql)
