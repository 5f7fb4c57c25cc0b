"""The registry on a PostgreSQL server that goes away and comes back."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.registry import Backups, RegistryStore, Snapshot, Website, validation
from schemas.runtime.clock import now_ms
from tests.flow.tenant import Tenant, at_ms
from tests.http_client import call, is_ready
from tests.installation import Installation, eventually, format_storage
from tests.postgresql import PostgreSQL


@pytest.fixture
def server() -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        yield server


@pytest.fixture
def installation(server: PostgreSQL, tmp_path: Path) -> Iterator[Installation]:
    format_storage(tmp_path / "kafka")
    registry = server.new_database()
    with Installation(tmp_path, registry=registry, batch_seconds=0.3) as installation:
        yield installation


def send(tenant: Tenant, number: int) -> int:
    event = {
        "name": "screen_view",
        "path": f"/{number}",
        "anonymousId": "ann",
        "sessionId": "s1",
        "timestamp": at_ms("10:00:00") + number,
    }
    return tenant.send([event]).status


def is_copied(tenant: Tenant) -> bool:
    """Whether the newest copy of the registry has the website."""
    newest = Backups.for_settings(tenant.stack.settings).newest()
    return (
        newest is not None and tenant.website.id in Snapshot.from_contents(newest.contents).websites
    )


def test_events_and_queries_go_on_without_the_server(
    installation: Installation, server: PostgreSQL
) -> None:
    tenant = Tenant.create(installation)
    assert send(tenant, 1) == 200
    eventually(lambda: is_copied(tenant), 60)  # a collector that starts alone needs it

    server.stop()
    time.sleep(1.0)  # both services have polled in vain
    assert send(tenant, 2) == 200
    assert is_ready(installation.collect_url)
    assert is_ready(installation.query_url)
    killed = installation.signal("collector-1", signal.SIGKILL)
    eventually(lambda: installation.pids().get("collector-1") not in (None, killed))
    eventually(lambda: is_ready(installation.collect_url))
    assert send(tenant, 3) == 200
    eventually(lambda: tenant.rows("summary")[0]["pageviews"] == 3)

    server.start()
    store = RegistryStore(installation.settings.registry_url)
    website: Website = store.create(
        validation.new_website(tenant.organization.id, "new.example", now_ms())
    )
    store.close()
    url = f"{installation.collect_url}/track?website_id={website.id}"
    eventually(lambda: call("POST", url, [{"name": "x"}]).status == 200)
