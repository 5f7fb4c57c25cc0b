"""The dashboard of a query service that runs alone, over a lake that the test writes.

No broker and no worker: it starts within seconds, and holds texts that a collector would cut.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from schemas.registry import KEY_SCOPES, RegistryStore, validation
from schemas.runtime.clock import now_ms
from tests.flow.tenant import Tenant
from tests.http_client import call
from tests.installation import Installation, eventually
from tests.query.lake import Lake, Stored
from tests.registries import make_registry

WEBSITE = "shop"
"""Id of the website, as the rows of `tests.query.lake` have it."""


@contextmanager
def query_alone(
    folder: Path,
    rows: Sequence[Stored],
    name: str = "Shop",
    others: Sequence[str] = (),
    **settings: Any,
) -> Iterator[Tenant]:
    """A tenant whose websites hold the rows, while its query service runs.

    `others` are ids of further websites, each with a domain of that name.
    """
    small = {"query_memory_mb": 256, "query_threads": 1, "query_seconds": 60}
    stack = Installation(folder, **small, **settings)
    folder.mkdir(parents=True, exist_ok=True)
    make_registry(stack.settings.registry_url)
    tenant = _tenant(stack, name, others)
    Lake(folder / "lake").holds(*rows)
    process = subprocess.Popen(
        [sys.executable, "-m", "query"],
        env=stack.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: _answers(stack), 60)
        yield tenant
    finally:
        process.terminate()
        process.wait(30)


def _tenant(stack: Installation, name: str, others: Sequence[str]) -> Tenant:
    now = now_ms()
    store = RegistryStore(stack.settings.registry_url)
    organization = store.create(validation.new_organization("Acme", "enterprise", now))
    link = store.create(validation.new_link(organization.id, name, "https://t.example/", now))
    scopes = [scope for scope in KEY_SCOPES if scope != "admin"]
    key, text = validation.new_key(organization.id, scopes, now, name=name)
    store.create(key)
    website = store.create(
        validation.new_website(organization.id, "shop.example", now, name=name, record_id=WEBSITE)
    )
    for other in others:
        domain = f"{other}.example"
        store.create(validation.new_website(organization.id, domain, now, record_id=other))
    store.close()
    return Tenant(stack, organization, website, link, text)


def _answers(stack: Installation) -> bool:
    with suppress(OSError):
        return call("GET", f"{stack.query_url}/health/ready").status == 200
    return False
