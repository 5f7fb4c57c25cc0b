"""Measurements of rollups: their groups, visitors and values."""

import numpy as np
import pytest

from query.prepared.measured_groups import Measurements
from query.prepared.measured_tables import LOADS, VITALS
from query.prepared.quarter_hours import QuarterHours
from query.prepared.rollup import Rollup
from query.prepared.rollup_view import RollupView
from query.request.filter_struct import Behavior, Filter
from tests.query.prepared.rollups import join, part_of

RANGE = QuarterHours(10, 14, np.array([0, 0, 1, 1]), [100, 200])


def vitals() -> list[Rollup]:
    first = part_of(
        "vital_values",
        quarter=[10, 11, 12, 12],
        visitor=[5, 6, 5, -1],
        of_metric_name=["LCP", "LCP", "LCP", "FPS"],
        of_path=["/b", "/a", None, "/b"],
        measured=[30, 20, 90, 60],
    )
    second = part_of(
        "vital_values",
        quarter=[10, 13, 14],
        visitor=[5, 7, 9],
        of_metric_name=["LCP", "CLS", "LCP"],
        of_path=["/b", "/b", "/a"],
        measured=[10, 5, 1_000],
    )
    return [first, second]


def measured(joined: RollupView, *by: str, metrics: tuple[str, ...] = ()) -> Measurements:
    return Measurements(joined, VITALS, by, RANGE, metrics)


@pytest.fixture
def joined() -> RollupView:
    return join(vitals(), 10, 14)


def labels(found: Measurements) -> list[list[int | str]]:
    return [each.at(np.arange(found.count)) for each in found.labels]


def test_groups_are_in_the_order_of_their_labels(joined: RollupView) -> None:
    found = measured(joined, "path", "metric_name")

    assert labels(found) == [["/a", "/b", "/b", "/b"], ["LCP", "CLS", "FPS", "LCP"]]
    assert found.row_counts.tolist() == [1, 1, 1, 2]
    assert found.visitors.tolist() == [1, 1, 0, 1]
    assert found.ranked("").values.tolist() == [20, 5, 60, 10, 30]


def test_buckets_and_metrics(joined: RollupView) -> None:
    found = measured(joined, "bucket", metrics=("LCP", "CLS"))

    assert labels(found) == [[100, 200]]
    assert found.row_counts.tolist() == [3, 2]
    assert found.visitors.tolist() == [2, 2]
    assert found.ranked("lcp").values.tolist() == [10, 20, 30, 90]
    assert found.ranked("cls").counts.tolist() == [0, 1]


def test_filters_on_labels_keep_what_meets_them(joined: RollupView) -> None:
    absent = Filter(field="path", operator="is_null")
    fps = Filter(field="metric_name", operator="eq", value="FPS")

    for filters, values in (
        ([absent], [90]),
        ([Filter(none_of=absent)], [5, 10, 20, 30, 60]),
        ([Filter(any_of=[absent, fps])], [60, 90]),
        ([absent, fps], []),
    ):
        found = Measurements(joined, VITALS, (), RANGE, (), filters)
        assert found.ranked("").values.tolist() == values, filters
    with pytest.raises(ValueError, match="other fields"):
        Measurements(joined, VITALS, (), RANGE, (), [Filter(has_done=Behavior(event="x"))])


def test_without_labels_there_is_one_group_even_of_nothing() -> None:
    for first, rows in ((10, 6), (20, 0)):
        found = measured(join(vitals(), first, first + 4))
        assert (found.count, found.row_counts.tolist()) == (1, [rows])
        assert found.ranked("").counts.tolist() == [rows]
    assert measured(join(vitals(), 20, 24), "path").count == 0


def test_metrics_with_columns_of_their_own_may_be_absent() -> None:
    rollup = part_of(
        "page_loads",
        quarter=[10, 12, 12],
        visitor=[5, 5, 6],
        of_path=["/", "/", None],
        load_time_plus_one=[41, 31, 11],
        ttfb_plus_one=[1, 0, 7],
    )

    found = Measurements(join([rollup], 10, 14), LOADS, ("path",), RANGE, ())

    assert found.ranked("load_time").values.tolist() == [30, 40]
    assert found.ranked("ttfb").values.tolist() == [0]
    assert found.ranked("ttfb").counts.tolist() == [1]


def test_the_greatest_values_are_exact_beside_those_below_zero() -> None:
    ends = (10**16 - 1, -(10**16) + 1)
    rollups = [
        part_of("vital_values", quarter=[10], visitor=[5], of_metric_name=["LCP"], measured=[value])
        for value in ends
    ]

    found = measured(join(rollups, 10, 14))

    assert found.ranked("").values.tolist() == sorted(ends)
    assert [each.tolist() for each in found.added("lcp")] == [[0], [2]]
