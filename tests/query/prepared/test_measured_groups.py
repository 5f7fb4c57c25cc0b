"""Rows of measurements in groups: what SQL would select, in its order and in others."""

from decimal import Decimal

import numpy as np

from query.prepared.array_rows import ArrayRows
from query.prepared.forms import empty_result
from query.prepared.measured_groups import MeasuredGroups
from query.prepared.measured_tables import LOADS, VITALS
from query.prepared.quarter_hours import QuarterHours
from query.prepared.rollup_view import RollupView
from query.request.buckets import Granularity
from query.request.filter_struct import Filter
from query.request.time_range import TimeRange
from tests.query.prepared.rollups import join, part_of

HOUR = 3_600_000
RANGE = QuarterHours(10, 14, np.array([0, 0, 1, 1]), [100, 200])
BY_PATH = MeasuredGroups(
    VITALS,
    ("path",),
    ("name", "visitors", "p75_lcp", "avg_cls", "samples"),
    ("p75_lcp",),
    ("LCP", "CLS"),
)


def joined() -> RollupView:
    return join(
        [
            part_of(
                "vital_values",
                quarter=[10, 10, 11, 12, 13],
                visitor=[5, 6, 5, 5, 7],
                of_metric_name=["LCP", "LCP", "LCP", "CLS", "FPS"],
                of_path=["/a", "/a", "/b", "/c", "/a"],
                measured=[10_000, 20_000, 15_000, 500, 1],
            )
        ],
        10,
        14,
    )


def test_rows_are_those_of_sql_and_come_in_its_order() -> None:
    rows = BY_PATH.rows(joined(), RANGE)

    assert [*rows] == [
        ("/a", 2, Decimal(1), Decimal(2), 2, Decimal(0), 0, 2),
        ("/b", 1, Decimal("1.5"), Decimal("1.5"), 1, Decimal(0), 0, 1),
        ("/c", 1, Decimal(0), Decimal(0), 0, Decimal("0.05"), 1, 1),
    ]


def test_what_has_no_value_comes_last_in_both_directions() -> None:
    rows = BY_PATH.rows(joined(), RANGE)

    assert isinstance(rows, ArrayRows)
    for ascending, names in ((True, "/b /a /c"), (False, "/a /b /c")):
        found = rows.page([("p75_lcp", ascending)], 0, 3)
        assert [row[0] for row in found] == names.split()
    assert rows.page([("avg_cls", True)], 0, 1)[0][0] == "/c"
    assert [row[0] for row in rows.page([("name", False)], 0, 3)] == ["/c", "/b", "/a"]


def test_buckets_and_metrics_are_labels() -> None:
    form = MeasuredGroups(
        VITALS, ("bucket", "metric_name"), ("date", "metric_name", "p50", "samples")
    )

    assert [row[:2] + row[-1:] for row in form.rows(joined(), RANGE)] == [
        (100, "LCP", 3),
        (200, "CLS", 1),
        (200, "FPS", 1),
    ]
    cut = TimeRange(HOUR // 8, HOUR, "UTC")
    hours = form.quarters(TimeRange(0, 2 * HOUR, "UTC"), Granularity.HOURLY)
    assert hours is not None
    assert len(hours.numbers) == 2
    assert (
        form.quarters(cut, Granularity.HOURLY) is BY_PATH.quarters(cut, Granularity.HOURLY) is None
    )
    whole = BY_PATH.quarters(TimeRange(0, 2 * HOUR, "UTC"), Granularity.HOURLY)
    assert whole is not None
    assert len(whole.numbers) == 1


def test_means_without_labels_are_one_row_even_of_nothing() -> None:
    form = MeasuredGroups(LOADS, (), ("avg_load_time", "avg_ttfb"))
    rollup = part_of(
        "page_loads",
        quarter=[10, 11],
        visitor=[5, 6],
        load_time_plus_one=[31, 41],
        ttfb_plus_one=[0, 8],
    )

    assert [*form.rows(join([rollup], 10, 14), RANGE)] == [(70, 2, 7, 1)]
    assert [*form.rows(join([rollup], 20, 24), RANGE)] == [(0, 0, 0, 0)] == empty_result(form)
    assert empty_result(BY_PATH) == ()


def test_filters_on_labels_are_part_of_the_form() -> None:
    path = Filter(field="path", operator="in", value=["/a", "/c"])
    form = BY_PATH.of_filters([path])

    assert form is not None
    assert form == BY_PATH.of_filters([path]) != BY_PATH
    assert {hash(form), hash(BY_PATH)} != {hash(BY_PATH)}
    assert [row[0] for row in form.rows(joined(), RANGE)] == ["/a", "/c"]
    assert BY_PATH.of_filters([Filter(field="host", operator="is_null")]) is None
