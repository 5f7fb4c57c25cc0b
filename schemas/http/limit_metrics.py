"""LimitMetrics: how much of its rate limits the tenant uses that is nearest to them."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from schemas.http.admission import Admission


class LimitMetrics(Collector):
    """Reads the buckets of tenants when the metrics are requested, so requests cost no more.

    One value for each group of endpoints and each of what is limited; no tenant is named.
    """

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def collect(self) -> Iterator[GaugeMetricFamily]:
        shares = GaugeMetricFamily(
            "tidemark_limit_used_ratio",
            "Share of a rate limit in use, of the tenant that is nearest to it, by group of "
            "endpoints and by what is limited: requests, bytes or items",
            labels=("limit", "unit"),
        )
        for group, used in self._admission.used_shares().items():
            for unit, share in used._asdict().items():
                shares.add_metric((group, unit), share)
        yield shares
