"""Percentiles of each web vital."""

from tests.query.lake import a_vital
from tests.query.query_service import InProcessService


def test_percentiles_of_vitals_lie_between_two_samples(service: InProcessService) -> None:
    service.holds(
        *(a_vital("LCP", value) for value in (100, 200, 300, 400, 500)), a_vital("CLS", 0.1)
    )

    # 5 samples: the 75th percentile is the 4th, the 90th lies 0.6 of the way from 4th to 5th
    assert service.rows("vitals_overview") == [
        {
            "metric_name": "CLS",
            **dict.fromkeys(("p50", "p75", "p90", "p95", "p99", "avg_value"), 0.1),
            "samples": 1,
        },
        {
            "metric_name": "LCP",
            "p50": 300.0,
            "p75": 400.0,
            "p90": 460.0,
            "p95": 480.0,
            "p99": 496.0,
            "avg_value": 300.0,
            "samples": 5,
        },
    ]
