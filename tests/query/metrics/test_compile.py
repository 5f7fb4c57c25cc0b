"""The SQL of metrics: each source is read only when a metric needs it."""

from collections.abc import Sequence

import pytest

from query.metrics.compile import compile_statement
from query.metrics.dimensions import parse_dimensions
from query.metrics.metrics import BY_NAME
from query.request.time_range import TimeRange
from query.standard.declaration.statement import Statement

DAY = TimeRange(0, 86_400_000, "Asia/Kolkata")


def compiled(metrics: Sequence[str], *dimensions: str) -> Statement:
    return compile_statement(DAY, parse_dimensions(dimensions), [BY_NAME[name] for name in metrics])


@pytest.mark.parametrize(
    ("metric", "relations"),
    [
        ("page_views", {"scoped"}),
        ("visits", {"session_rows"}),
        ("errors", {"scoped_errors"}),
        ("error_rate", {"scoped", "scoped_errors"}),
        ("errors_per_view", {"scoped", "scoped_errors"}),
        ("p75_lcp", {"scoped_vitals"}),
    ],
)
def test_a_metric_reads_its_own_rows_only(metric: str, relations: set[str]) -> None:
    known = {"scoped", "visit_rows", "session_rows", "scoped_errors", "scoped_vitals"}

    assert compiled([metric]).read.names & known == relations


def test_a_visit_by_a_fact_has_the_values_of_its_rows() -> None:
    assert {"scoped", "session_rows"} <= compiled(["visits"], "path").read.names
    assert "scoped" not in compiled(["visits"], "time:day").read.names


def test_a_fact_of_the_visit_is_read_for_each_visit_or_for_each_row() -> None:
    of_visits = compiled(["visits", "entries", "exit_rate"], "visit.channel", "path")
    of_both = compiled(["visits", "visitors"], "visit.channel")

    assert [fact.name for fact in of_visits.read.facts] == ["channel"]
    assert "visit_channel" not in of_visits.read.names
    assert "path" in of_visits.read.names
    assert [fact.name for fact in of_both.read.facts] == ["channel"]
    assert "visit_channel" in of_both.read.names


def test_a_part_that_several_metrics_share_is_computed_once() -> None:
    body = compiled(["visits", "bounce_rate", "visit_duration"])

    [grouped] = [cte.sql for cte in body.ctes if cte.name == "of_visits"]
    assert grouped.count(" AS visits") == 1


def test_each_source_has_all_columns_in_one_order() -> None:
    body = compiled(["visitors", "visits", "errors"], "path", "time:day")
    sources = [cte.sql for cte in body.ctes if cte.name.startswith("of_")]

    columns = [
        [each.rsplit(" AS ", 1)[1] for each in sql.split(" FROM ")[0].split(", ") if " AS " in each]
        for sql in sources
    ]
    assert columns == [["d0", "d1", "visitors", "visits", "errors"]] * 3


def test_values_of_a_request_are_bound() -> None:
    body = compiled(["events"], "properties.it's", "time:hour")

    texts = [body.sql, *(cte.sql for cte in body.ctes)]
    assert not any("it's" in text for text in texts)
    assert body.values["dimension0_path"] == "/it's"
    assert body.values["time1_offset_0"] == 19_800_000
