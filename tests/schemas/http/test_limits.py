"""The sliding window: what it passes, rejects and keeps in memory; its headers and errors."""

import sys
from collections.abc import Sequence
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.http import limits
from schemas.http.limits import (
    STEP_MS,
    WINDOW_MS,
    ExceededLimit,
    RateLimitBucket,
    RateLimiter,
    RateLimitStatus,
    count_in_all,
    rate_limit_error,
)
from schemas.plans import MIB, NO_LIMIT, PLANS, Group, Limit, limit_for, network_limit

NOW = 1_000_000


def a_bucket(requests: int, size: int = NO_LIMIT, items: int = NO_LIMIT) -> RateLimitBucket:
    return RateLimitBucket(Limit(requests, size, items), "a", NOW)


def taken(bucket: RateLimitBucket, now_ms: int, cost: int = 1, size: int = 0) -> RateLimitStatus:
    """What is left after it, or when it is refused."""
    outcome = count_in_all((bucket,), now_ms, cost, size)
    return outcome.status if isinstance(outcome, ExceededLimit) else outcome.status()


def is_refused(bucket: RateLimitBucket, now_ms: int, cost: int = 1, size: int = 0) -> bool:
    return isinstance(count_in_all((bucket,), now_ms, cost, size), ExceededLimit)


def test_a_limit_is_used_up_and_resets() -> None:
    bucket = a_bucket(2)

    assert taken(bucket, NOW) == RateLimitStatus(2, 1, NOW + 60_000)
    assert taken(bucket, NOW) == RateLimitStatus(2, 0, NOW + 60_000)
    assert count_in_all((bucket,), NOW) == ExceededLimit(
        RateLimitStatus(2, 0, NOW + 60_000), "The limit for a is 2 requests per minute."
    )
    assert taken(bucket, NOW + 60_000) == RateLimitStatus(2, 1, NOW + 120_000)


def test_two_minutes_of_requests_do_not_pass_at_the_boundary_of_a_minute() -> None:
    bucket = a_bucket(100)
    taken(bucket, NOW)
    taken(bucket, NOW + 59_000, 99)

    # The first is 60 s old and has left the window; the 99 others have not.
    assert taken(bucket, NOW + 60_000) == RateLimitStatus(100, 0, NOW + 120_000)
    assert is_refused(bucket, NOW + 61_000)
    assert taken(bucket, NOW + 61_000) == RateLimitStatus(100, 0, NOW + 120_000)


def test_bytes_are_limited_beside_requests() -> None:
    bucket = a_bucket(10, 1_000)

    assert taken(bucket, NOW, 1, 900) == RateLimitStatus(10, 9, NOW + 60_000)
    assert count_in_all((bucket,), NOW, 1, 101) == ExceededLimit(
        RateLimitStatus(10, 0, NOW + 60_000), "The limit for a is 1,000 bytes per minute."
    )
    assert taken(bucket, NOW, 1, 100) == RateLimitStatus(10, 8, NOW + 60_000)
    assert is_refused(bucket, NOW)


def test_items_are_limited_beside_requests_and_bytes() -> None:
    bucket = a_bucket(10, 1_000, 500)

    assert isinstance(count_in_all((bucket,), NOW, 1, 10, 200), RateLimitBucket)
    assert isinstance(count_in_all((bucket,), NOW + 20_000, 1, 10, 200), RateLimitBucket)
    # 101 items fit when the first 200 have left the window.
    assert count_in_all((bucket,), NOW + 21_000, 1, 10, 101) == ExceededLimit(
        RateLimitStatus(10, 0, NOW + 60_000), "The limit for a is 500 items per minute."
    )
    assert isinstance(count_in_all((bucket,), NOW + 22_000, 1, 10, 100), RateLimitBucket)
    assert is_refused(bucket, NOW + 23_000)  # not even one without any, before it is decoded
    assert isinstance(count_in_all((bucket,), NOW + 60_000, 1, 10, 200), RateLimitBucket)


def test_a_minutes_items_pass_within_a_minute_and_not_at_once() -> None:
    bucket = a_bucket(100_000, items=30_000)
    sent = [
        (
            second,
            len(
                [
                    n
                    for n in range(11)
                    if not isinstance(_five_hundred(bucket, second), ExceededLimit)
                ]
            ),
        )
        for second in range(0, 35, 5)
    ]

    assert sent == [(0, 10), (5, 10), (10, 10), (15, 10), (20, 10), (25, 10), (30, 0)]
    assert _five_hundred(bucket, 34) == ExceededLimit(
        RateLimitStatus(100_000, 0, NOW + 60_000), "The limit for a is 30,000 items per minute."
    )


def test_a_burst_of_bytes_is_limited() -> None:
    bucket = a_bucket(1_000, 96 * MIB)

    assert [is_refused(bucket, NOW, 1, MIB) for _ in range(18)] == [False] * 16 + [True] * 2
    assert count_in_all((bucket,), NOW + 4_000, 1, 5) == ExceededLimit(
        RateLimitStatus(1_000, 0, NOW + 5_000),
        "The limit for a is 16,777,216 bytes within 5 seconds.",
    )
    assert not is_refused(bucket, NOW + 5_000, 1, MIB)


def _five_hundred(bucket: RateLimitBucket, second: int) -> RateLimitBucket | ExceededLimit:
    return count_in_all((bucket,), NOW + second * 1_000, items=500)


def test_items_are_forgotten_when_the_clock_is_set_back() -> None:
    bucket = a_bucket(10, 1_000, 5)
    count_in_all((bucket,), NOW, 1, 10, 5)

    assert isinstance(count_in_all((bucket,), NOW - 86_400_000, 1, 10, 5), RateLimitBucket)


def test_requests_of_one_item_never_reach_the_item_limit_first() -> None:
    for plan in PLANS:
        for own in ({}, {"collect": 900_000_000}):
            limit = limit_for(plan, Group.COLLECT, own)
            assert limit.items >= 10 * limit.requests
            assert network_limit(limit).items == limit.items // 2


def test_an_own_item_limit_replaces_the_plans() -> None:
    agreed = limit_for("free", Group.COLLECT, {"collect_items": 500, "collect": 9_000})

    assert agreed == Limit(9_000, 64 * MIB, 500)
    assert limit_for("free", Group.QUERY, {"collect_items": 500}) == Limit(120)


def test_a_request_above_the_whole_limit_uses_all_of_it() -> None:
    bucket = a_bucket(10, 1_000)

    assert taken(bucket, NOW, 25, 5_000) == RateLimitStatus(10, 0, NOW + 60_000)
    assert is_refused(bucket, NOW)
    assert not is_refused(bucket, NOW + 60_000, 25)


def test_a_request_that_one_bucket_rejects_is_counted_in_none() -> None:
    small, large = a_bucket(1), a_bucket(5)
    count_in_all((small, large), NOW)

    assert count_in_all((large, small), NOW) == small.exceeded()
    assert (small.requests, large.requests) == (1, 1)


def test_a_response_shows_the_bucket_with_the_fewest_remaining_requests() -> None:
    network, website = a_bucket(30), a_bucket(60)
    count_in_all((website,), NOW, 50)

    assert count_in_all((network, website), NOW) is website
    assert website.status() == RateLimitStatus(60, 9, NOW + 60_000)


def test_a_clock_that_is_set_back_locks_no_client_out() -> None:
    bucket = a_bucket(1)
    taken(bucket, NOW)

    assert taken(bucket, NOW - 86_400_000) == RateLimitStatus(1, 0, NOW - 86_340_000)


@given(
    limit=st.integers(1, 6),
    arrivals=st.lists(
        st.tuples(st.integers(0, 2 * STEP_MS) | st.integers(0, WINDOW_MS), st.integers(1, 3)),
        max_size=60,
    ),
)
def test_never_more_than_the_limit_passes_within_a_minute_and_never_less(
    limit: int, arrivals: Sequence[tuple[int, int]]
) -> None:
    bucket, now = a_bucket(limit), NOW
    passed: list[tuple[int, int]] = []

    def used(within_ms: int) -> int:
        return sum(cost for at, cost in passed if at > now - within_ms)

    for pause, expected in arrivals:
        now += pause
        cost = min(expected, limit)
        outcome = count_in_all((bucket,), now, cost)
        if isinstance(outcome, RateLimitBucket):
            passed.append((now, cost))
            assert used(WINDOW_MS) <= limit
            assert outcome.status().remaining <= limit - used(WINDOW_MS)
        else:
            # An entry is as old as its last request, which came less than a step after its first.
            assert used(WINDOW_MS + STEP_MS) + cost > limit
            assert now < outcome.status.reset_ms <= now + WINDOW_MS
            assert not is_refused(deepcopy(bucket), outcome.status.reset_ms, cost)


def test_a_bucket_stays_small_under_many_requests() -> None:
    bucket = a_bucket(10**9)

    for moment in range(0, 3 * WINDOW_MS, 37):
        count_in_all((bucket,), NOW + moment)

    assert WINDOW_MS // 37 <= bucket.requests <= (WINDOW_MS + STEP_MS) // 37
    assert len(bucket.older) <= 14
    numbers = 4 * 14 * sys.getsizeof(NOW)
    sizes = map(sys.getsizeof, (bucket, bucket.older, *bucket.older))
    assert numbers + sum(sizes) < 3_000


def test_a_flood_of_networks_evicts_idle_ones_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ANONYMOUS_BUCKETS", 100)
    limiter, limit = RateLimiter(), Limit(1, MIB)
    for name in ("busy", "idle"):
        count_in_all((limiter.anonymous_bucket(name, limit, name, NOW),), NOW)

    for number in range(1_000):
        limiter.anonymous_bucket(number, limit, "", NOW)
        if number % 50 == 0:
            assert is_refused(limiter.anonymous_bucket("busy", limit, "busy", NOW), NOW)

    assert len(limiter._anonymous) == 100
    assert limiter.find_anonymous("idle") is None


def test_the_headers_are_whole_seconds() -> None:
    assert RateLimitStatus(5, 4, 1_060_001).headers() == [
        (b"x-ratelimit-limit", b"5"),
        (b"x-ratelimit-remaining", b"4"),
        (b"x-ratelimit-reset", b"1061"),
    ]


def test_a_rate_limit_error_says_when_to_retry() -> None:
    error = rate_limit_error(RateLimitStatus(5, -1, 1_060_000), 1_030_500)

    assert error.details == {
        "limit": 5,
        "remaining": 0,
        "reset": "1970-01-01T00:17:40.000Z",
        "retryAfter": 30,
    }
