"""Custom events and outbound clicks by name, path, quarter-hour and link."""

import tracemalloc

import numpy as np
import pytest

from query.prepared.custom_events import (
    CustomEventNames,
    CustomEventsByBucket,
    CustomEventsByBucketAndName,
    CustomEventsByPath,
    CustomEventsByQuarter,
    CustomEventTotals,
    OutboundClicks,
)
from query.prepared.quarter_hours import QuarterHours, whole_range
from query.prepared.rollup import Rollup
from query.prepared.rollup_tables import QUARTER_MS
from query.prepared.rollup_view import RollupView
from query.request.time_range import TimeRange
from tests.query.prepared.rollups import Values, join, part_of

# quarter, visitor, session, name, path, domain, link, text, start, span, events, with properties
CUSTOM = (
    (10, 70, 1, "Purchase", "/a", None, None, None, 5, 0, 1, 1),
    (11, 70, 1, "Purchase", "/b", None, None, None, 0, 9, 2, 0),
    (11, 80, -1, "Purchase", "/a", None, None, None, 3, 0, 1, 0),
    (11, -1, 2, "Signup", None, None, None, None, 3, 0, 3, 0),
)
CLICKS = (
    (10, 70, 1, "outbound_click", "/", "a.example", "https://a.example/1", "One", 5, 7, 2, 0),
    (12, 70, 3, "link_out", "/", "a.example", "https://a.example/1", "One", 1, 0, 1, 0),
    (12, 80, -1, "link_out", "/", "a.example", "https://a.example/2", None, 1, 0, 1, 0),
    (12, 80, -1, "link_out", "/", "b.example", None, None, 2, 0, 1, 0),
    (19, 80, -1, "link_out", "/", "late.example", None, None, 2, 0, 1, 0),
)
NAMES = (
    "quarter", "visitor", "session_key", "of_name", "of_path", "of_outbound_domain", "of_href",
    "of_link_text", "start_ms", "span_ms", "row_count", "with_properties",
)  # fmt: skip
Q = QUARTER_MS


def rollups() -> list[Rollup]:
    """The rows in two rollups."""
    rows = (*CUSTOM, *CLICKS)
    return [
        part_of("other_events", **dict(zip(NAMES, zip(*rows[i::2], strict=True), strict=True)))
        for i in range(2)
    ]


@pytest.fixture
def joined() -> RollupView:
    return join(rollups(), 10, 15)


QUARTERS = whole_range(TimeRange(10 * Q, 15 * Q, "UTC"))


def test_custom_events_by_name(joined: RollupView) -> None:
    assert QUARTERS is not None
    assert CustomEventNames().rows(joined, QUARTERS) == [
        ("Purchase", 4, 2, 1, 11 * Q + 9, 10 * Q + 5, 1, 2, 2),
        ("Signup", 3, 0, 1, 11 * Q + 3, 11 * Q + 3, 0, 0, 2),
    ]


def test_outbound_clicks_by_link(joined: RollupView) -> None:
    assert QUARTERS is not None
    assert OutboundClicks(by_domain=False).rows(joined, QUARTERS) == [
        ("https://a.example/1", "One", 3, 1, 2, 3, 5, 12 * Q + 1),
        ("", "", 1, 1, 0, 1, 5, 12 * Q + 2),
        ("https://a.example/2", "", 1, 1, 0, 1, 5, 12 * Q + 1),
    ]


def test_outbound_clicks_by_domain(joined: RollupView) -> None:
    assert QUARTERS is not None
    assert OutboundClicks(by_domain=True).rows(joined, QUARTERS) == [
        ("a.example", 4, 2, 2, 4, 5),
        ("b.example", 1, 1, 0, 1, 5),
    ]


RANGE = QuarterHours(10, 15, np.array([0, 1, 1, 2, 2]), [100, 200, 300])

__all__ = ["joined"]


def test_totals(joined: RollupView) -> None:
    assert CustomEventTotals().rows(joined, RANGE) == [(7, 2, 2, 2, 2)]


def test_by_bucket(joined: RollupView) -> None:
    assert CustomEventsByBucket().rows(joined, RANGE) == [
        (100, 1, 1, 1, 1, 1),
        (200, 6, 2, 2, 2, 2),
    ]


def test_by_quarter(joined: RollupView) -> None:
    assert CustomEventsByQuarter().rows(joined, RANGE) == [(10, 1), (11, 6)]


def test_by_path(joined: RollupView) -> None:
    assert CustomEventsByPath().rows(joined, RANGE) == [("/a", 2, 1, 2), ("/b", 2, 1, 1)]


def test_by_bucket_and_name(joined: RollupView) -> None:
    assert CustomEventsByBucketAndName().rows(joined, RANGE) == [
        (100, "Purchase", 1),
        (200, "Purchase", 3),
        (200, "Signup", 3),
    ]


def test_a_range_without_events() -> None:
    empty, without = join(rollups(), 15, 18), QuarterHours(15, 18, np.zeros(3, np.intp), [100])
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
    buckets = QuarterHours(0, count, np.arange(count), list(range(count)))

    tracemalloc.start()
    rows = CustomEventsByBucketAndName().rows(events, buckets)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert rows == [(i, f"n{i}", 1) for i in range(count)]
    assert peak < 20_000_000  # a number for each pair would take 200 MB
