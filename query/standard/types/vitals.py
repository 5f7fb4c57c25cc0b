"""Query types of web vitals, one column per metric."""

from msgspec import Struct, structs

from query.prepared.measured_groups import MeasuredGroups
from query.prepared.measured_tables import VITALS as MEASURED
from query.request.subject import SubjectKind
from query.sql.select import Cte
from query.standard.declaration.fields import P50, P75, Date, FineAverage
from query.standard.declaration.query_type import QueryType
from query.standard.sql.percentiles import greatest_first, mean_columns, quantile_columns
from schemas.tables import VITALS as STORED


class VitalValues(Struct, frozen=True):
    name: str
    visitors: int
    avg_fcp: FineAverage
    p50_fcp: P50
    avg_lcp: FineAverage
    p50_lcp: P50
    avg_cls: FineAverage
    p50_cls: P50
    avg_inp: FineAverage
    avg_ttfb: FineAverage
    measurements: int
    p75_lcp: P75
    p75_inp: P75
    p75_cls: P75


class VitalValuesByBucket(Struct, frozen=True):
    date: Date
    avg_fcp: FineAverage
    p50_fcp: P50
    avg_lcp: FineAverage
    p50_lcp: P50
    avg_cls: FineAverage
    p50_cls: P50
    avg_inp: FineAverage
    p50_inp: P50
    avg_ttfb: FineAverage
    p50_ttfb: P50
    measurements: int
    p75_lcp: P75
    p75_inp: P75
    p75_cls: P75


class Medians(Struct, frozen=True):
    name: str
    visitors: int
    p50_lcp: P50
    p50_fcp: P50
    p50_cls: P50
    p50_inp: P50
    p50_ttfb: P50
    samples: int


METRICS = ("LCP", "FCP", "CLS", "INP", "TTFB")
OF_METRICS = f"metric_name IN ({', '.join(map(repr, METRICS))})"
PLAIN = {
    "name": "label",
    "date": "label",
    "visitors": "COUNT(DISTINCT visitor_hash) AS visitors",
    "measurements": "COUNT(*) AS measurements",
    "samples": "COUNT(*) AS samples",
}


def ranked_vitals(group: str, only: str = OF_METRICS) -> Cte:
    """Measurements ranked by value within each group and metric."""
    return Cte(
        "ranked",
        f"""
        SELECT {group} AS label,
               visitor_hash, metric_name, metric_value,
               ROW_NUMBER() OVER (
                   PARTITION BY {group}, metric_name ORDER BY metric_value
               )                                                      AS row_rank,
               COUNT(*) OVER (PARTITION BY {group}, metric_name)      AS row_count
          FROM scoped
         WHERE {only}
           AND {group} IS NOT NULL
        """,  # noqa: S608
    )


def column(name: str) -> str:
    """A field of a row shape in SQL: `avg_lcp` is the mean of LCP, `p75_lcp` its percentile."""
    if name in PLAIN:
        return PLAIN[name]
    figure, _, metric = name.partition("_")
    only = f"metric_name = '{metric.upper()}'"
    if figure == "avg":
        return mean_columns(name, "metric_value", only)
    return quantile_columns(name, "metric_value", int(figure[1:]), only)


def vitals_type(
    name: str, row: type[Struct], group: str, first: tuple[str, ...], description: str
) -> QueryType:
    """Measurements by a column of the table, those with the greatest of `first` first."""
    names = tuple(field.name for field in structs.fields(row))
    columns = ",\n".join(map(column, names))
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=row,
        prepared=MeasuredGroups(MEASURED, (group,), names, first, METRICS),
        ctes=(ranked_vitals(group),),
        sql=f"""
            SELECT {columns}
              FROM ranked
             GROUP BY label
             ORDER BY {greatest_first(*first)}
        """,  # noqa: S608
    )


def wide_vitals_type(name: str, group: str, description: str) -> QueryType:
    """Means and medians by a column, the slowest LCP first."""
    slowest = ("p50_lcp", "measurements")
    return vitals_type(
        f"web_vitals_by_{name}", VitalValues, group, slowest, f"web vitals by {description}"
    )


def medians_type(name: str, description: str) -> QueryType:
    """Medians by a column, the one with most samples first."""
    column_ = f"{name}_name" if name == "browser" else name
    description = f"medians of web vitals by {description}"
    return vitals_type(f"vitals_by_{name}", Medians, column_, ("samples",), description)


VITALS = (
    wide_vitals_type("page", "path", "path"),
    wide_vitals_type("browser", "browser_name", "browser"),
    wide_vitals_type("country", "country", "country"),
    wide_vitals_type("os", "os_name", "operating system"),
    wide_vitals_type("region", "region", "region"),
    wide_vitals_type("device", "device_type", "class of device"),
    vitals_type(
        "web_vitals_time_series",
        VitalValuesByBucket,
        "bucket",
        (),
        "web vitals of each bucket",
    ),
    medians_type("country", "country"),
    medians_type("browser", "browser"),
    medians_type("region", "region"),
    medians_type("city", "city"),
)
