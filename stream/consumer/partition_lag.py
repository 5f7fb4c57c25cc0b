"""PartitionLag: what a worker has not stored yet, by topic partition, as metrics."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from stream.consumer.progress import WorkerProgress

LABELS = ("topic", "partition")


class PartitionLag(Collector):
    """Reads the progress when the metrics are requested."""

    def __init__(self, progress: WorkerProgress) -> None:
        self._progress = progress

    def collect(self) -> Iterator[GaugeMetricFamily]:
        messages = GaugeMetricFamily(
            "tidemark_lag_messages", "Messages in Kafka that are not stored", labels=LABELS
        )
        seconds = GaugeMetricFamily(
            "tidemark_lag_seconds",
            "For how long a partition has had messages that are not stored; 0 when all are",
            labels=LABELS,
        )
        for part in self._progress.progress():
            labels = (part.topic, str(part.partition))
            messages.add_metric(labels, part.end_offset - part.next_offset)
            seconds.add_metric(labels, self._progress.lag_seconds(part.topic, part.partition))
        yield messages
        yield seconds
