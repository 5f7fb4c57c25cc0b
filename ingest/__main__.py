"""`python -m ingest --name collector-1`: one collector process."""

import asyncio
import gc
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from ingest.app import SALTS_FOLDER, create_app
from ingest.links.click_queue import ClickQueue
from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.anonymous_id import DailySalts
from ingest.publishing.producer import KafkaProducer
from ingest.publishing.recent_requests import RecentRequests
from ingest.server.http_protocol import CollectorProtocol
from schemas.http.error_bodies import collect_error
from schemas.http.server import serve
from schemas.kinds import ALL_KINDS
from schemas.registry import (
    Backups,
    DatabaseError,
    RegistryFollower,
    RegistryStore,
    registry_unavailable,
)
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import InvalidSetting, load_settings
from schemas.runtime.file_permissions import set_umask
from schemas.runtime.settings import Settings

FLUSH_TIMEOUT_SECONDS = 10.0
GC_THRESHOLD = 50_000
"""Objects that may wait for the cycle collector."""


def main() -> None:
    """Serve until told to stop."""
    parser = ArgumentParser(prog="python -m ingest", description=__doc__)
    parser.add_argument("--name", default="collector-1", help="name of this process")
    try:
        run(load_settings(), parser.parse_args().name)
    except InvalidSetting as refused:
        sys.exit(f"collector: {refused}")
    except (DatabaseError, ImportError) as away:
        sys.exit(f"collector: {registry_unavailable(away)}")


def run(settings: Settings, name: str) -> None:
    """One collector with these settings."""
    set_umask(settings)
    outbox = KafkaProducer(settings, [kind.topic for kind in ALL_KINDS])
    follower = RegistryFollower(
        RegistryStore(settings.registry_url), Backups.for_settings(settings)
    )
    acknowledged = AcknowledgedCounter(settings.data, name)
    clicks, secrets = ClickQueue(outbox), DailySalts(settings.data / SALTS_FOLDER)

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        tune_garbage_collector()
        outbox.start()
        beside = [
            asyncio.create_task(follower.run()),
            asyncio.create_task(outbox.disk.run()),
            asyncio.create_task(acknowledged.run()),
            asyncio.create_task(secrets.run(now_ms)),
        ]
        yield
        for task in beside:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        clicks.close()
        await outbox.close(FLUSH_TIMEOUT_SECONDS)
        clicks.count_unacknowledged()
        with suppress(OSError):
            acknowledged.write()

    recent = RecentRequests()
    app = create_app(
        outbox,
        follower,
        now_ms,
        settings,
        lifespan,
        recent,
        clicks,
        secrets,
        outbox.disk,
        acknowledged,
    )
    ready = lambda: outbox.unavailable_reason is None  # noqa: E731 - a sentence, not a function
    port = settings.collect_port
    serve(app, settings, name, port, ready, collect_error, CollectorProtocol, recent.close)


def tune_garbage_collector() -> None:
    """Let Python's cycle collector look seldom, and not at what stays: a fifth of a request's time.

    Nothing that a good request makes is part of a cycle; reference counts free it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 100)


if __name__ == "__main__":
    main()
