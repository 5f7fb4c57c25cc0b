"""A collector alone: no other process shares its limits, or its recent requests."""

from collections.abc import Sequence
from typing import Any

from ingest.app import ENDPOINTS, SALTS_FOLDER, Collector, create_app
from ingest.dependencies import CollectorEndpoint, SnapshotSource
from ingest.peers.messages import NoPeers
from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.anonymous_id import DailySalts
from ingest.publishing.click_queue import ClickQueue
from ingest.publishing.disk_floor import DiskFloor
from ingest.publishing.publish import Producer
from ingest.publishing.recent_requests import RecentRequests
from ingest.publishing.tee import Tee
from schemas.http.limits import RateLimiter
from schemas.http.middleware import HttpMiddleware
from schemas.runtime.clock import Clock
from schemas.runtime.settings import Settings


def lone_collector(
    producer: Producer,
    registry: SnapshotSource,
    clock: Clock,
    settings: Settings,
    endpoints: Sequence[CollectorEndpoint] = ENDPOINTS,
    **parts: Any,
) -> HttpMiddleware:
    """The application of a collector; `parts` replace the usual ones."""
    usual: dict[str, Any] = {
        "clicks": ClickQueue(producer),
        "salts": DailySalts(settings.data / SALTS_FOLDER),
        "disk_floor": DiskFloor(settings),
        "acknowledged_counter": AcknowledgedCounter(settings.data, "collector", clock),
        "recent_requests": RecentRequests(),
        "limiter": RateLimiter(),
        "peers": NoPeers(),
        "tee": Tee(settings),
    }
    collector = Collector(settings, clock, registry, producer, **(usual | parts))
    return create_app(collector, endpoints)
