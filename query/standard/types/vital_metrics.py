"""Query types of web vitals, one row per metric: percentiles and samples."""

from collections.abc import Mapping

from msgspec import Struct, structs

from query.prepared.measured_groups import MeasuredGroups
from query.prepared.measured_tables import VITALS as MEASURED
from query.request.subject import SubjectKind
from query.standard.declaration.fields import P50, P75, P90, P95, P99, Date, FineAverage
from query.standard.declaration.query_type import QueryType
from query.standard.sql.grouped_rows import grouped_rows
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


def by_metric(row: type[Struct], *groups: str, first: tuple[str, ...] = ()) -> MeasuredGroups:
    """How the rows of each group and metric are made from parts."""
    names = tuple(field.name for field in structs.fields(row))
    return MeasuredGroups(MEASURED, (*groups, "metric_name"), names, first)


def metrics_type(
    name: str,
    row: type[Struct],
    description: str,
    groups: Mapping[str, str],
    *,
    limit: int = 100,
    first: tuple[str, ...] = (),
) -> QueryType:
    """Percentiles of each group and metric; `groups` are columns of the table by field."""
    label = next(iter(groups.values()), "metric_name")
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=row,
        prepared=by_metric(row, *groups.values(), first=first),
        default_limit=limit,
        ctes=(ranked_vitals(label, "TRUE"),),
        sql=grouped_rows(
            row,
            {**dict.fromkeys(groups, "label"), "metric_name": "metric_name"},
            first=first,
            source="ranked",
            value="metric_value",
        ),
    )


METRICS = (
    metrics_type("vitals_overview", VitalMetric, "percentiles and mean of each metric", {}),
    metrics_type(
        "vitals_time_series",
        MetricOfBucket,
        "percentiles of each metric and bucket that has samples",
        {"date": "bucket"},
        limit=10_000,
    ),
    metrics_type(
        "vitals_by_page",
        MetricOfPage,
        "percentiles of each path and metric",
        {"page": "path"},
        limit=50,
        first=("samples",),
    ),
)
