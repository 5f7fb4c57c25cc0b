"""Metrics of web vitals by hand: percentiles, shares by the published bounds, samples."""

from pathlib import Path

from query.metrics.vitals import VITAL_METRICS, VITALS
from schemas.tables.vitals import METRICS as STORED
from tests.query.lake import a_view, a_vital
from tests.query.metrics_queries import error, rows, where
from tests.query.query_service import InProcessService, reused, start_service

LCP = (1000, 2500, 2500.0001, 4000, 4000.0001)


@reused
def service(tmp_path: Path) -> InProcessService:
    service = start_service(tmp_path)
    service.holds(
        *(a_vital("LCP", value) for value in LCP),
        a_vital("CLS", 0.1, path="/pricing"),
        a_vital("CLS", 0.2001, path="/pricing"),
        a_vital("CLS", -0.3, path="/odd"),
        a_vital("FPS", 60, path="/game"),
        a_view("/", channel="Email"),
    )
    return service


def test_every_vital_but_frames_per_second_has_metrics() -> None:
    assert {vital.name for vital in VITALS} == {*STORED} - {"FPS"}
    assert len(VITAL_METRICS) == len(VITALS) * 8


def test_percentiles_lie_between_the_measurements(service: InProcessService) -> None:
    found = rows(service, "p50_lcp", "p75_lcp", "p90_lcp", "p95_lcp", "samples_lcp")

    # ranks of five values: 2, 3, 3.6, 3.8
    assert found == [
        {
            "p50_lcp": 2500.0001,
            "p75_lcp": 4000.0,
            "p90_lcp": 4000.0001,
            "p95_lcp": 4000.0001,
            "samples_lcp": 5,
        }
    ]


def test_shares_are_by_the_published_bounds(service: InProcessService) -> None:
    found = rows(service, "good_lcp", "needs_improvement_lcp", "poor_lcp")

    assert found == [{"good_lcp": 40.0, "needs_improvement_lcp": 40.0, "poor_lcp": 20.0}]


def test_percentiles_of_small_and_negative_values(service: InProcessService) -> None:
    found = rows(service, "p50_cls", "p75_cls", "good_cls", dimensions=["path"])

    # a page with other vitals only has no row
    assert found == [
        {"path": "/pricing", "p50_cls": 0.1501, "p75_cls": 0.1751, "good_cls": 50.0},
        {"path": "/odd", "p50_cls": -0.3, "p75_cls": -0.3, "good_cls": 100.0},
    ]


def test_without_a_measurement_there_is_no_percentile(service: InProcessService) -> None:
    found = rows(service, "p75_inp", "good_inp", "samples_inp")

    assert found == [{"p75_inp": None, "good_inp": None, "samples_inp": 0}]


def test_vitals_have_the_facts_of_their_visit(service: InProcessService) -> None:
    service.holds(a_vital("LCP", 9000, session="s2", visitor="u2"))

    found = rows(service, "p75_lcp", "visits", dimensions=["visit.channel"])
    filtered = rows(service, "samples_lcp", filters=[where("channel", "Email")])

    assert found == [
        {"visit.channel": None, "p75_lcp": 9000.0, "visits": 0},
        {"visit.channel": "Email", "p75_lcp": 4000.0, "visits": 1},
    ]
    assert filtered == [{"samples_lcp": 5}]


def test_order_and_having_compare_the_shown_percentile(service: InProcessService) -> None:
    found = rows(
        service,
        "p50_cls",
        dimensions=["path"],
        having=[where("p50_cls", 0.1501)],
        orderBy=[{"field": "p50_cls", "direction": "asc"}],
    )

    assert found == [{"path": "/pricing", "p50_cls": 0.1501}]


def test_a_column_of_vitals_is_a_dimension_of_vitals_only(service: InProcessService) -> None:
    found = rows(service, "samples_lcp", dimensions=["metric_name"])

    assert found == [{"metric_name": "LCP", "samples_lcp": 5}]
    assert error(service, "visits", dimensions=["metric_name"]) == (
        "The metric 'visits' is of table 'events', whose rows have no 'metric_name'; leave out one "
        "of them, or ask in two queries"
    )
