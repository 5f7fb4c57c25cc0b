"""`python -m ingest --name collector-1`: runs one collector process."""

import asyncio
import gc
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import product

from ingest.app import SALTS_FOLDER, Collector, create_app
from ingest.peers.all_peers import AllPeers
from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.anonymous_id import DailySalts
from ingest.publishing.click_queue import ClickQueue
from ingest.publishing.kafka_connection import check_aiokafka
from ingest.publishing.producer import KafkaProducer, add_producer_gauges
from ingest.publishing.recent_requests import RecentRequests
from ingest.publishing.spool import Spool, has_spooled_requests
from ingest.publishing.spooling_producer import SpoolingProducer, add_spool_gauges
from ingest.publishing.tee import Tee
from ingest.server.http_protocol import CollectorProtocol
from schemas.http.admission import LimitMetrics
from schemas.http.error_bodies import collect_error
from schemas.http.health import until_ready
from schemas.http.limit_counts import COLLECTOR
from schemas.http.server import serve
from schemas.http.shared_limits import SharedRateLimiter
from schemas.http.telemetry_server import start_telemetry
from schemas.http.traced_app import traced
from schemas.kinds import ALL_KINDS
from schemas.registry import (
    Backups,
    DatabaseError,
    RegistryFollower,
    RegistrySalts,
    RegistryStore,
    add_registry_gauge,
    registry_unavailable,
)
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import InvalidSetting, load_settings
from schemas.runtime.file_permissions import set_umask
from schemas.runtime.library_names import UnsupportedLibrary
from schemas.runtime.log_setup import silence
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import ITEMS
from schemas.telemetry.traces import close_traces, start_traces

FLUSH_TIMEOUT_SECONDS = 10.0
GC_THRESHOLD = 50_000
"""New objects after which the cyclic garbage collector runs."""


def main() -> None:
    """Run until SIGTERM."""
    parser = ArgumentParser(prog="python -m ingest", description=__doc__)
    parser.add_argument("--name", default="collector-1", help="name of this process")
    try:
        run(load_settings(), parser.parse_args().name)
    except (InvalidSetting, UnsupportedLibrary) as error:
        sys.exit(f"collector: {error}")
    except (DatabaseError, ImportError) as error:
        sys.exit(f"collector: {registry_unavailable(error)}")


def run(settings: Settings, name: str) -> None:
    """Run one collector with these settings."""
    set_umask(settings)
    silence("aiokafka")
    tracer = start_traces(settings, "collector", name)
    check_aiokafka()
    kafka = KafkaProducer(settings, [kind.topic for kind in ALL_KINDS])
    counter = AcknowledgedCounter(settings.data, name)
    spool = (
        SpoolingProducer(kafka, Spool(settings, name, now_ms), counter)
        if settings.spool_mb or has_spooled_requests(settings.data)
        else None
    )
    producer = spool or kafka
    follower = RegistryFollower(
        RegistryStore(settings.registry_url), Backups.for_settings(settings)
    )
    recent_requests = RecentRequests()
    peers = AllPeers.for_settings(settings, recent_requests)
    limiter = SharedRateLimiter.for_settings(settings, COLLECTOR)
    shared_salts = RegistrySalts.on_server(settings.registry_url)
    collector = Collector(
        settings,
        now_ms,
        follower,
        producer,
        ClickQueue(producer),
        DailySalts(settings.data / SALTS_FOLDER, shared_salts),
        kafka.disk,
        counter,
        recent_requests,
        limiter,
        peers,
        Tee(settings),
        spool,
    )
    collector.salts.fetch(now_ms())

    def is_ready() -> bool:
        return kafka.unavailable_reason is None

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        tune_garbage_collector()
        kafka.start()
        if spool is not None:
            spool.start()
        background_tasks = [
            asyncio.create_task(follower.run()),
            asyncio.create_task(kafka.disk.run()),
            asyncio.create_task(collector.acknowledged_counter.run()),
            asyncio.create_task(collector.salts.run(now_ms)),
        ]
        async with peers.running():
            await until_ready(is_ready)
            yield
        for task in background_tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await limiter.close()
        await collector.tee.close()
        collector.clicks.close()
        if spool is not None:
            await spool.close()
        await kafka.close(FLUSH_TIMEOUT_SECONDS)
        collector.clicks.count_unacknowledged()
        with suppress(OSError):
            collector.acknowledged_counter.write()

    app = create_app(collector, lifespan=lifespan)
    start_telemetry(settings, name, app.requests, LimitMetrics(app.admission))
    add_producer_gauges(kafka)
    add_spool_gauges(spool.spool if spool else None, now_ms)
    for kind, outcome in product(ALL_KINDS, ("acknowledged", "failed", "spooled")):
        ITEMS.add(kind.topic, outcome, 0)
    add_registry_gauge(follower)
    port = settings.collect_port
    serve(
        traced(app, tracer, app.requests.route_of),
        settings,
        name,
        port,
        lambda: producer.unavailable_reason,
        collect_error,
        CollectorProtocol,
        recent_requests.close,
        lambda: app.untrusted_proxies.problem or (spool.warning if spool else None),
        app.drain,
    )
    close_traces()


def tune_garbage_collector() -> None:
    """Run the cyclic garbage collector rarely, and not over objects that stay.

    Reference counting frees everything that a valid request allocates; with the default thresholds
    the cyclic collector takes a fifth of the time of a request.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 100)


if __name__ == "__main__":
    main()
