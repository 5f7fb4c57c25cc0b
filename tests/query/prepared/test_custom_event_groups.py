"""Custom events in groups, beside outbound clicks that are none."""

import numpy as np

from query.prepared.custom_event_groups import (
    CustomEventsByBucket,
    CustomEventsByBucketAndName,
    CustomEventsByPath,
    CustomEventTotals,
)
from query.prepared.joined_parts import JoinedParts
from query.prepared.quarters import Quarters
from tests.query.prepared.parts import join
from tests.query.prepared.test_other_events import joined, parts

RANGE = Quarters(10, 15, np.array([0, 1, 1, 2, 2]), [100, 200, 300])

__all__ = ["joined"]


def test_totals(joined: JoinedParts) -> None:
    assert CustomEventTotals().rows(joined, RANGE) == [(7, 2, 2, 2, 2)]


def test_by_bucket(joined: JoinedParts) -> None:
    assert CustomEventsByBucket().rows(joined, RANGE) == [
        (100, 1, 1, 1, 1, 1),
        (200, 6, 2, 2, 2, 2),
    ]


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
    for form in (CustomEventsByBucket(), CustomEventsByPath(), CustomEventsByBucketAndName()):
        assert form.rows(empty, without) == []
