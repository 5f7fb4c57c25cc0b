"""Buckets of requests with keys, of websites, and of client networks; the metric of used limits."""

from contextlib import suppress
from typing import Any

import pytest

from schemas.errors import RateLimitExceeded
from schemas.http import admission
from schemas.http.admission import (
    PUBLIC_GROUP_LIMIT,
    RATE_LIMIT_KEY,
    Admission,
    LimitHolder,
    LimitMetrics,
)
from schemas.http.limits import WINDOW_MS, RateLimiter
from schemas.plans import MIB, Group
from schemas.registry import Organization
from schemas.telemetry.instruments import LIMITED_REQUESTS

NOW = 1_000_000
HOME, CAFE = "203.0.113.0", "198.51.100.0"


def an_organization(plan: str = "free", **limits: int) -> Organization:
    return Organization(id="acme", name="", plan=plan, limits=limits, created_at=1, updated_at=1)


class Counting:
    """Admission with a clock whose hands a test moves."""

    def __init__(self) -> None:
        self.now = NOW
        self.admission = Admission(RateLimiter(), lambda: self.now)

    def keyed(self, owner: Organization, cost: int = 1, size: int = 0) -> int:
        """Requests that are left."""
        scope: dict[str, Any] = {}
        self.admission.count(scope, LimitHolder(owner, Group.COLLECT), cost=cost, size=size)
        return self._left(scope)

    def anonymous(self, owner: Organization, website: str, network: str, size: int = 0) -> int:
        scope: dict[str, Any] = {}
        holder = LimitHolder(owner, Group.COLLECT, website)
        self.admission.count(scope, holder, network, size=size)
        return self._left(scope)

    def public(self, network: str, cost: int = 1) -> int:
        scope: dict[str, Any] = {}
        self.admission.count_public(scope, network, cost)
        return self._left(scope)

    def _left(self, scope: dict[str, Any]) -> int:
        return int(dict(scope[RATE_LIMIT_KEY].headers())[b"x-ratelimit-remaining"])


@pytest.fixture
def counting() -> Counting:
    return Counting()


def test_one_network_may_use_half_of_the_limit_of_a_website(counting: Counting) -> None:
    owner = an_organization(collect=10)

    assert [counting.anonymous(owner, "shop", HOME) for _ in range(5)] == [4, 3, 2, 1, 0]
    with pytest.raises(RateLimitExceeded) as rejection:
        counting.anonymous(owner, "shop", HOME)

    assert rejection.value.message == (
        "Rate limit exceeded. Please try again later. The limit for requests to this website "
        "without an API key from one network is 5 requests per minute."
    )
    assert counting.anonymous(owner, "shop", CAFE) == 4


def test_all_networks_together_have_the_limit_of_the_website(counting: Counting) -> None:
    owner = an_organization(collect=10)
    for network in range(10):
        counting.anonymous(owner, "shop", f"192.0.{network}.0")

    with pytest.raises(RateLimitExceeded, match="is 10 requests"):
        counting.anonymous(owner, "shop", HOME)


def test_requests_with_a_key_are_counted_apart_from_those_without(counting: Counting) -> None:
    owner = an_organization(collect=2)
    for network in (HOME, CAFE):
        counting.anonymous(owner, "shop", network)

    assert [counting.keyed(owner), counting.anonymous(owner, "blog", HOME)] == [1, 0]


def test_bytes_have_limits_of_their_own(counting: Counting) -> None:
    owner = an_organization(collect_mib=2)
    counting.keyed(owner)
    counting.keyed(owner, 0, 2 * MIB)
    counting.anonymous(owner, "shop", HOME, MIB)

    with pytest.raises(
        RateLimitExceeded, match=r"API keys \(collect\) is 2,097,152 bytes per minute"
    ):
        counting.keyed(owner)
    with pytest.raises(RateLimitExceeded, match="from one network is 1,048,576 bytes per minute"):
        counting.anonymous(owner, "shop", HOME)
    assert counting.anonymous(owner, "shop", CAFE, MIB) == 2_999


def test_a_query_may_cost_more_than_one_request(counting: Counting) -> None:
    owner = an_organization(collect=10)

    assert counting.keyed(owner, 7) == 3
    with pytest.raises(RateLimitExceeded):
        counting.keyed(owner, 4)
    assert counting.keyed(owner, 3) == 0


def test_a_new_plan_applies_at_once_and_keeps_the_counts(counting: Counting) -> None:
    counting.keyed(an_organization(collect=1))

    assert counting.keyed(an_organization(collect=5)) == 3


def test_rejected_requests_of_a_network_are_counted_up_to_the_limit(
    counting: Counting,
) -> None:
    assert counting.public(HOME, PUBLIC_GROUP_LIMIT.requests - 1) == 1
    assert counting.public(HOME, 50) == 0
    with pytest.raises(RateLimitExceeded):
        counting.public(HOME)
    with pytest.raises(RateLimitExceeded):
        counting.admission.check_network({}, HOME, NOW)
    counting.admission.check_network({}, CAFE, NOW)


def test_a_flood_of_networks_evicts_no_tenant(
    counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schemas.http.limits.MAX_ANONYMOUS_BUCKETS", 100)
    owner = an_organization(collect=1_000)
    counting.keyed(owner, 1_000)

    for network in range(900):
        counting.anonymous(owner, "shop", f"10.{network // 250}.{network % 250}.0")

    assert len(counting.admission._limiter._anonymous) == 100
    with pytest.raises(RateLimitExceeded):
        counting.keyed(owner)
    assert counting.anonymous(owner, "shop", HOME) == 99


def test_idle_tenants_take_no_memory(counting: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "CLEANUP_THRESHOLD", 10)
    counting.admission._cleanup_at = 10

    for minute in range(100):
        counting.now = NOW + minute * 60_000
        counting.anonymous(an_organization(), f"website {minute}", HOME)

    assert len(counting.admission._tenants) <= 10


def limited(id_: str) -> Organization:
    limits = {"collect": 10, "collect_mib": 1, "collect_items": 200, "query": 4}
    return Organization(id=id_, name="", plan="free", limits=limits, created_at=1, updated_at=1)


def shares(counting: Admission) -> dict[tuple[str, str], float]:
    """Those that are not 0, by group and unit."""
    [family] = LimitMetrics(counting).collect()
    return {
        (sample.labels["limit"], sample.labels["unit"]): sample.value
        for sample in family.samples
        if sample.value
    }


def test_the_tenant_nearest_to_each_limit_is_shown() -> None:
    now = NOW
    counting = Admission(RateLimiter(), lambda: now)
    acme, globex = limited("acme"), limited("globex")
    for _ in range(3):
        counting.count({}, LimitHolder(acme, Group.COLLECT), size=MIB // 8, items=10)
    counting.count({}, LimitHolder(globex, Group.COLLECT), size=MIB // 2, items=20)
    counting.count({}, LimitHolder(globex, Group.QUERY))

    assert shares(counting) == {
        ("collect", "requests"): 0.3,
        ("collect", "bytes"): 0.5,
        ("collect", "items"): 0.15,
        ("query", "requests"): 0.25,
    }
    now = NOW + WINDOW_MS
    assert shares(counting) == {}


def test_rejected_requests_are_counted_by_the_kind_of_limit() -> None:
    counting, acme = Admission(RateLimiter(), lambda: NOW), limited("acme")

    def counted(kind: str) -> float:
        return float(LIMITED_REQUESTS.labels(kind)._value.get())

    kinds = ("query", "query_network", "public")
    before = [counted(kind) for kind in kinds]
    counting.count({}, LimitHolder(acme, Group.QUERY), cost=4)
    for _ in range(5):
        with pytest.raises(RateLimitExceeded):
            counting.count({}, LimitHolder(acme, Group.QUERY))
    for network in ("a", "a", "a", "b", "b", "c"):
        with suppress(RateLimitExceeded):
            counting.count({}, LimitHolder(acme, Group.QUERY, "shares"), network)

    assert [counted(kind) - was for kind, was in zip(kinds, before, strict=True)] == [6, 1, 0]
