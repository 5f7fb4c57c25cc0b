"""GET /v1/query/metrics: every metric and dimension, with its meaning."""

from pathlib import Path

from query.metrics.dimensions import INSTANT_BUCKETS, TIMES
from query.metrics.fields import FIELDS
from query.metrics.metrics import METRICS
from query.metrics.money import MONEY_METRICS
from query.metrics.terms import AGGREGATES, CONVERSIONS
from tests.query.query_service import start_service


def test_the_catalogue_lists_metrics_dimensions_and_operators(tmp_path: Path) -> None:
    service = start_service(tmp_path)

    found = service.ask("GET", "/v1/query/metrics", key=None).json

    assert [metric["name"] for metric in found["metrics"]] == [
        *(metric.name for metric in METRICS),
        *CONVERSIONS,
        *MONEY_METRICS,
        *AGGREGATES,
    ]
    assert {d["name"] for d in found["dimensions"]} == {
        *FIELDS,
        *INSTANT_BUCKETS,
        *TIMES,
        *("properties.<path>", "goal", "currency"),
    }
    assert found["metrics"][0] == {
        "name": "visitors",
        "meaning": "unique visitors: each counts once in the time range; one without an "
        "`anonymousId` of the sender is new each day",
        "of": "rows",
        "unit": "count",
        "tables": ["events"],
    }
    assert all(each["meaning"] for each in [*found["metrics"], *found["dimensions"]])
    assert [operator["name"] for operator in found["operators"]][:2] == ["eq", "ne"]
