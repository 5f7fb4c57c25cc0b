"""The SQL of a query type whose rows are measures by groups, from its row shape.

Each field of the shape is a group or a measure. The name of a measure says what it is: a count of
`MEASURES`; `avg_load_time`, the mean of a column; `p50_load_time`, a percentile of it over rows
that a CTE ranks; a `Percent`, the share of a count in its sum over all groups.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.standard.declaration.fields import FieldSpec, field_specs
from query.standard.sql.percentiles import IS_PERCENTILE, mean_columns, quantile_columns

ROWS = "COUNT(*)"
VISITORS = "COUNT(DISTINCT visitor_hash)"
SESSIONS = "COUNT(DISTINCT session_hash)"
FIRST, LAST = "MIN(ms)", "MAX(ms)"
MEASURES: Mapping[str, str] = {
    **dict.fromkeys(("count", "total", "pageviews", "clicks", "errors", "samples"), ROWS),
    **dict.fromkeys(("total_clicks", "total_events", "measurements"), ROWS),
    **dict.fromkeys(("visitors", "users", "unique_users"), VISITORS),
    **dict.fromkeys(("sessions", "unique_sessions"), SESSIONS),
    **dict.fromkeys(("first_occurrence", "first_seen"), FIRST),
    **dict.fromkeys(("last_occurrence", "last_seen", "last_clicked"), LAST),
}
"""What fields of these names are, over the rows of a group."""


def grouped_rows(
    row: type[Struct],
    groups: Mapping[str, str] | None = None,
    *,
    where: str = "",
    first: Sequence[str] = (),
    measures: Mapping[str, str] | None = None,
    share_of: str = VISITORS,
    source: str = "scoped",
    value: str = "",
) -> str:
    """The SELECT of the rows: those with the greatest `first` first, then by the groups.

    `groups` and `measures` are expressions by field, the latter beside MEASURES; `share_of` is what
    a percentage is a share of, `value` the column of means and percentiles that do not name it.
    """
    groups, known = groups or {}, {**MEASURES, **(measures or {})}
    columns = [
        f"{groups[name]} AS row_{name}"
        if name in groups
        else _measure(name, spec, known, share_of, value)
        for name, spec in field_specs(row).items()
    ]
    terms = [*map(_greatest, first), *(f"row_{name} NULLS LAST" for name in groups)]
    return "\n".join(
        part
        for part in (
            f"SELECT {', '.join(columns)}",
            f"  FROM {source}",
            f" WHERE {where}" if where else "",
            f" GROUP BY {', '.join(dict.fromkeys(groups.values()))}" if groups else "",
            f" ORDER BY {', '.join(terms or ['1'])}",
        )
        if part
    )


def _measure(
    name: str, spec: FieldSpec, known: Mapping[str, str], share_of: str, value: str
) -> str:
    """The columns of a measure."""
    if spec.suffixes == ("_part", "_whole"):
        return f"{share_of} AS {name}_part, SUM({share_of}) OVER () AS {name}_whole"
    if len(spec.suffixes) == 1:
        return f"{known[name]} AS row_{name}"
    figure, _, column = name.partition("_")
    if figure == "avg":
        return mean_columns(name, value or column)
    return quantile_columns(name, value or column, int(figure[1:]))


def _greatest(name: str) -> str:
    if IS_PERCENTILE.match(name):
        return f"{name}_low + {name}_high DESC NULLS LAST"
    return f"row_{name} DESC"
