"""Query types of web vitals, one row per metric: percentiles and samples."""

from msgspec import Struct, structs

from query.prepared.measured_groups import MeasuredGroups
from query.prepared.measured_tables import VITALS as MEASURED
from query.request.subject import SubjectKind
from query.standard.declaration.fields import P50, P75, P90, P95, P99, Date, FineAverage
from query.standard.declaration.query_type import QueryType
from query.standard.sql.percentiles import mean_columns, quantile_columns
from query.standard.types.vitals import ranked_vitals
from schemas.tables import VITALS as STORED


class VitalMetric(Struct, frozen=True):
    metric_name: str
    p50: P50
    p75: P75
    p90: P90
    p95: P95
    p99: P99
    avg_value: FineAverage
    samples: int


class MetricOfBucket(Struct, frozen=True):
    date: Date
    metric_name: str
    p50: P50
    p75: P75
    p90: P90
    p95: P95
    p99: P99
    samples: int


class MetricOfPage(Struct, frozen=True):
    page: str
    metric_name: str
    p50: P50
    p75: P75
    p90: P90
    p95: P95
    p99: P99
    samples: int


PERCENTILES = ",\n".join(quantile_columns(f"p{n}", "metric_value", n) for n in (50, 75, 90, 95, 99))


def by_metric(row: type[Struct], *groups: str, first: tuple[str, ...] = ()) -> MeasuredGroups:
    """How the rows of each group and metric are made from parts."""
    names = tuple(field.name for field in structs.fields(row))
    return MeasuredGroups(MEASURED, (*groups, "metric_name"), names, first)


METRICS = (
    QueryType(
        name="vitals_overview",
        description="percentiles and mean of each metric",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=VitalMetric,
        prepared=by_metric(VitalMetric),
        ctes=(ranked_vitals("metric_name", "TRUE"),),
        sql=f"""
            SELECT metric_name,
                   {PERCENTILES},
                   {mean_columns("avg_value", "metric_value")},
                   COUNT(*) AS samples
              FROM ranked
             GROUP BY metric_name
             ORDER BY metric_name
        """,  # noqa: S608
    ),
    QueryType(
        name="vitals_time_series",
        description="percentiles of each metric and bucket that has samples",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=MetricOfBucket,
        prepared=by_metric(MetricOfBucket, "bucket"),
        default_limit=10_000,
        ctes=(ranked_vitals("bucket", "TRUE"),),
        sql=f"""
            SELECT label,
                   metric_name,
                   {PERCENTILES},
                   COUNT(*) AS samples
              FROM ranked
             GROUP BY label, metric_name
             ORDER BY label, metric_name
        """,  # noqa: S608
    ),
    QueryType(
        name="vitals_by_page",
        description="percentiles of each path and metric",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=MetricOfPage,
        prepared=by_metric(MetricOfPage, "path", first=("samples",)),
        default_limit=50,
        ctes=(ranked_vitals("path", "TRUE"),),
        sql=f"""
            SELECT label,
                   metric_name,
                   {PERCENTILES},
                   COUNT(*) AS samples
              FROM ranked
             GROUP BY label, metric_name
             ORDER BY samples DESC, label, metric_name
        """,  # noqa: S608
    ),
)
