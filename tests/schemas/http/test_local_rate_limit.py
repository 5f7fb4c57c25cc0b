"""Buckets of client networks in this process: bounded in number."""

import pytest

from schemas.http import local_rate_limit
from schemas.http.local_rate_limit import LocalRateLimiter
from schemas.http.rate_limit import ExceededLimit, RateLimitBucket, count_in_all
from schemas.plans import MIB, Limit

NOW = 1_796_000_000_000


def is_refused(bucket: RateLimitBucket, now_ms: int, cost: int = 1, size: int = 0) -> bool:
    return isinstance(count_in_all((bucket,), now_ms, cost, size), ExceededLimit)


def test_a_flood_of_networks_evicts_idle_ones_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_rate_limit, "MAX_ANONYMOUS_BUCKETS", 100)
    limiter, limit = LocalRateLimiter(), Limit(1, MIB)
    for name in ("busy", "idle"):
        count_in_all((limiter.anonymous_bucket(name, limit, name, NOW),), NOW)

    for number in range(1_000):
        limiter.anonymous_bucket(number, limit, "", NOW)
        if number % 50 == 0:
            assert is_refused(limiter.anonymous_bucket("busy", limit, "busy", NOW), NOW)

    assert len(limiter._anonymous) == 100
    assert limiter.find_anonymous("idle") is None
