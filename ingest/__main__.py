"""`python -m ingest --name collector-1`: one collector process."""

import asyncio
import gc
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from ingest.app import SECRETS, create_app
from ingest.links.click_queue import Clicks
from ingest.publishing.acknowledged_counts import Acknowledgements
from ingest.publishing.anonymous_id import DailySecrets
from ingest.publishing.producer import Outbox
from ingest.publishing.recent_requests import Recent
from ingest.server.http_protocol import CollectorProtocol
from schemas.http.error_bodies import of_collect
from schemas.http.server import serve
from schemas.kinds import EVERY_KIND
from schemas.registry import Backups, DatabaseError, Follower, Store, no_registry
from schemas.runtime.clock import now_ms
from schemas.runtime.file_permissions import keep_private
from schemas.runtime.settings import SettingRefused, Settings, load

FLUSH_SECONDS = 10.0
GARBAGE = 50_000
"""Objects that may wait for the cycle collector."""


def main() -> None:
    """Serve until told to stop."""
    parser = ArgumentParser(prog="python -m ingest", description=__doc__)
    parser.add_argument("--name", default="collector-1", help="name of this process")
    try:
        run(load(), parser.parse_args().name)
    except SettingRefused as refused:
        sys.exit(f"collector: {refused}")
    except (DatabaseError, ImportError) as away:
        sys.exit(f"collector: {no_registry(away)}")


def run(settings: Settings, name: str) -> None:
    """One collector with these settings."""
    keep_private(settings)
    outbox = Outbox(settings, [kind.topic for kind in EVERY_KIND])
    follower = Follower(Store(settings.registry_url), Backups.of(settings))
    acknowledged = Acknowledgements(settings.data, name)
    clicks, secrets = Clicks(outbox), DailySecrets(settings.data / SECRETS)

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        rest_cycle_collector()
        outbox.start()
        beside = [
            asyncio.create_task(follower.run()),
            asyncio.create_task(outbox.disk.run()),
            asyncio.create_task(acknowledged.keep()),
            asyncio.create_task(secrets.end_with_their_days(now_ms)),
        ]
        yield
        for task in beside:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        clicks.close()
        await outbox.close(FLUSH_SECONDS)
        clicks.settle()
        with suppress(OSError):
            acknowledged.write()

    recent = Recent()
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
    ready = lambda: outbox.refusing is None  # noqa: E731 - a sentence, not a function
    port = settings.collect_port
    serve(app, settings, name, port, ready, of_collect, CollectorProtocol, recent.end)


def rest_cycle_collector() -> None:
    """Let Python's cycle collector look seldom, and not at what stays: a fifth of a request's time.

    Nothing that a good request makes is part of a cycle; reference counts free it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE, 20, 100)


if __name__ == "__main__":
    main()
