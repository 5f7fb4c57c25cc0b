"""HttpRequests: durations of HTTP requests by route and status, cheap enough for every request."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

from schemas.telemetry.instruments import SHORT_SECONDS

OTHER_ROUTE = "other"
"""The route of requests to paths that do not exist: their number has no limit."""

ALERTING_STATUSES = (500, 503)
"""Each route that was requested has these from 0 on, so that their first increase is seen."""

RouteOf = Callable[[str], str]
"""The route of a path, one of few."""


class HttpRequests(Collector):
    """Counts in lists; the families of Prometheus are made when the metrics are requested."""

    def __init__(self, route_of: RouteOf) -> None:
        self.route_of = route_of
        """The route of a path, as in the label."""
        self._buckets: dict[tuple[str, int], list[float]] = {}
        """By route and status: requests per bucket, and behind them the sum of seconds."""

    def observe(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        count_duration(self.counts(path, status), seconds)

    def counts(self, path: str, status: int) -> list[float]:
        """What `count_duration` counts the requests of this route and status in."""
        key = self.route_of(path), status
        counts = self._buckets.get(key)
        if counts is None:
            for one in (key, *((key[0], error) for error in ALERTING_STATUSES)):
                self._buckets.setdefault(one, [0] * (len(SHORT_SECONDS) + 2))
            counts = self._buckets[key]
        return counts

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(
            "tidemark_http_request_seconds",
            "Time from the head of a request to the start of its response",
            labels=("route", "status"),
        )
        for (route, status), counts in self._buckets.copy().items():
            cumulative, total = [], 0.0
            for bound, count in zip((*SHORT_SECONDS, "+Inf"), counts[:-1], strict=True):
                total += count
                cumulative.append((str(bound), total))
            family.add_metric((route, str(status)), cumulative, counts[-1])
        yield family


def count_duration(counts: list[float], seconds: float) -> None:
    """Count a request that was answered, whose route and status are known beforehand."""
    counts[bisect_left(SHORT_SECONDS, seconds)] += 1
    counts[-1] += seconds


def routes(templates: Collection[str], prefixes: Sequence[str] = ()) -> RouteOf:
    """The template that a path matches (`/v1/links/{link_id}`), or OTHER_ROUTE.

    `prefixes` are routes that serve every path below.
    """
    exact = {template: template for template in templates if "{" not in template}
    parts = [template.split("/") for template in templates if "{" in template]

    def route_of(path: str) -> str:
        if (route := exact.get(path)) is not None:
            return route
        for prefix in prefixes:
            if path.startswith(prefix):
                return prefix
        segments = path.split("/")
        for template in parts:
            if len(template) == len(segments) and all(
                part == segment or part.startswith("{")
                for part, segment in zip(template, segments, strict=True)
            ):
                return "/".join(template)
        return OTHER_ROUTE

    return route_of
