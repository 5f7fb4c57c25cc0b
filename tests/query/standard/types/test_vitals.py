"""Web vitals side by side."""

from tests.query.lake import a_vital
from tests.query.query_service import InProcessService


def test_vitals_side_by_side_are_null_where_nothing_was_measured(service: InProcessService) -> None:
    service.holds(a_vital("LCP", 1200, country="DE"), a_vital("LCP", 1300, country="DE"))

    [row] = service.rows("web_vitals_by_country")

    assert (row["name"], row["p50_lcp"], row["p50_cls"], row["measurements"]) == (
        "DE",
        1250.0,
        None,
        2,
    )
