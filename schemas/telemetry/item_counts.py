"""ItemCounts: items by topic and outcome, cheap enough for every request."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry


class ItemCounts(Collector):
    """Counts in a dict, without a lock; the family of Prometheus is made when it is requested.

    One thread adds; any may collect.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        registry.register(self)

    def add(self, topic: str, outcome: str, items: int) -> None:
        """Count items of one request."""
        key = topic, outcome
        self._counts[key] = self._counts.get(key, 0) + items

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(
            "tidemark_items",
            "Valid items of requests by topic: acknowledged, or failed (Kafka did not acknowledge)",
            labels=("topic", "outcome"),
        )
        for labels, items in self._counts.copy().items():
            family.add_metric(labels, items)
        yield family
