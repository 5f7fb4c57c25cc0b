"""The metric of used rate limits: the tenant that is nearest to its limits, and no names."""

from contextlib import suppress

import pytest

from schemas.errors import RateLimitExceeded
from schemas.http.admission import Admission
from schemas.http.limit_metrics import LimitMetrics
from schemas.http.local_rate_limit import LocalRateLimiter
from schemas.http.rate_limit_headers import WINDOW_MS
from schemas.plans import MIB, Group
from schemas.registry import Organization
from schemas.telemetry.instruments import LIMITED_REQUESTS

NOW = 1_000_000


def an_organization(id_: str) -> Organization:
    limits = {"collect": 10, "collect_mib": 1, "collect_items": 200, "query": 4}
    return Organization(id=id_, name="", plan="free", limits=limits, created_at=1, updated_at=1)


def shares(admission: Admission) -> dict[tuple[str, str], float]:
    """Those that are not 0, by group and unit."""
    [family] = LimitMetrics(admission).collect()
    return {
        (sample.labels["limit"], sample.labels["unit"]): sample.value
        for sample in family.samples
        if sample.value
    }


def test_the_tenant_nearest_to_each_limit_is_shown() -> None:
    now = NOW
    admission = Admission(LocalRateLimiter(), lambda: now)
    acme, globex = an_organization("acme"), an_organization("globex")
    for _ in range(3):
        admission.count_with_key({}, acme, Group.COLLECT, size=MIB // 8, items=10)
    admission.count_with_key({}, globex, Group.COLLECT, size=MIB // 2, items=20)
    admission.count_with_key({}, globex, Group.QUERY)

    assert shares(admission) == {
        ("collect", "requests"): 0.3,
        ("collect", "bytes"): 0.5,
        ("collect", "items"): 0.15,
        ("query", "requests"): 0.25,
    }
    now = NOW + WINDOW_MS
    assert shares(admission) == {}


def test_rejected_requests_are_counted_by_the_kind_of_limit() -> None:
    admission, acme = Admission(LocalRateLimiter(), lambda: NOW), an_organization("acme")

    def counted(kind: str) -> float:
        return float(LIMITED_REQUESTS.labels(kind)._value.get())

    kinds = ("query", "query_network", "public")
    before = [counted(kind) for kind in kinds]
    admission.count_with_key({}, acme, Group.QUERY, cost=4)
    for _ in range(5):
        with pytest.raises(RateLimitExceeded):
            admission.count_with_key({}, acme, Group.QUERY)
    for network in ("a", "a", "a", "b", "b", "c"):
        buckets = admission.anonymous_buckets(network, acme, Group.QUERY, "shares", NOW)
        with suppress(RateLimitExceeded):
            admission.count_anonymous({}, buckets, Group.QUERY, NOW)

    assert [counted(kind) - was for kind, was in zip(kinds, before, strict=True)] == [6, 1, 0]
