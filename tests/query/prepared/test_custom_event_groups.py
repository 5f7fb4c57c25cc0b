"""Custom events in groups, beside outbound clicks that are none."""

import tracemalloc

import numpy as np

from query.prepared.custom_event_groups import (
    CustomEventsByBucket,
    CustomEventsByBucketAndName,
    CustomEventsByPath,
    CustomEventsByQuarter,
    CustomEventTotals,
)
from query.prepared.joined_parts import JoinedParts
from query.prepared.quarters import Quarters
from tests.query.prepared.parts import Values, join, part_of
from tests.query.prepared.test_other_events import NAMES, joined, parts

RANGE = Quarters(10, 15, np.array([0, 1, 1, 2, 2]), [100, 200, 300])

__all__ = ["joined"]


def test_totals(joined: JoinedParts) -> None:
    assert CustomEventTotals().rows(joined, RANGE) == [(7, 2, 2, 2, 2)]


def test_by_bucket(joined: JoinedParts) -> None:
    assert CustomEventsByBucket().rows(joined, RANGE) == [
        (100, 1, 1, 1, 1, 1),
        (200, 6, 2, 2, 2, 2),
    ]


def test_by_quarter(joined: JoinedParts) -> None:
    assert CustomEventsByQuarter().rows(joined, RANGE) == [(10, 1), (11, 6)]


def test_by_path(joined: JoinedParts) -> None:
    assert CustomEventsByPath().rows(joined, RANGE) == [("/a", 2, 1, 2), ("/b", 2, 1, 1)]


def test_by_bucket_and_name(joined: JoinedParts) -> None:
    assert CustomEventsByBucketAndName().rows(joined, RANGE) == [
        (100, "Purchase", 1),
        (200, "Purchase", 3),
        (200, "Signup", 3),
    ]


def test_a_range_without_events() -> None:
    empty, without = join(parts(), 15, 18), Quarters(15, 18, np.zeros(3, np.intp), [100])
    assert CustomEventTotals().rows(empty, without) == [CustomEventTotals.nothing]
    for form in (
        CustomEventsByBucket(),
        CustomEventsByPath(),
        CustomEventsByBucketAndName(),
        CustomEventsByQuarter(),
    ):
        assert form.rows(empty, without) == []


def test_many_buckets_and_many_names_take_no_room_for_each_pair() -> None:
    count = 5_000
    columns: dict[str, Values] = {name: [0] * count for name in NAMES}
    columns |= {name: [None] * count for name in NAMES if name.startswith("of_")}
    columns["quarter"], columns["row_count"] = range(count), [1] * count
    columns["of_name"] = [f"n{i}" for i in range(count)]
    events = join([part_of("other_events", **columns)], 0, count)
    buckets = Quarters(0, count, np.arange(count), list(range(count)))

    tracemalloc.start()
    rows = CustomEventsByBucketAndName().rows(events, buckets)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert rows == [(i, f"n{i}", 1) for i in range(count)]
    assert peak < 20_000_000  # a number for each pair would take 200 MB
