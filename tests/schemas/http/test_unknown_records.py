"""A new website, key, link or import works at once; unknown ids cause few reads of the registry."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.http.middleware import HttpMiddleware
from schemas.registry import RegistryFollower, RegistryStore, validation
from schemas.registry.contents import RegistryVersion
from schemas.registry.on_demand_read import BURST_READS, MAX_WAITING
from schemas.runtime.settings import Settings
from tests.asgi_client import request_once, send_request
from tests.ingest.in_memory_collector import NOW, InMemoryProducer
from tests.ingest.lone_collector import lone_collector
from tests.query.query_service import start_service


class CountedStore(RegistryStore):
    """Counts the reads of the version, with which every read of the registry begins."""

    reads = 0

    def read_version(self) -> RegistryVersion:
        self.reads += 1
        return super().read_version()


@pytest.fixture
def store(new_registry: Path, tmp_path: Path) -> Iterator[CountedStore]:
    path = tmp_path / "registry.db"
    shutil.copy(new_registry, path)
    store = CountedStore(f"sqlite:///{path}")
    yield store
    store.close()


@pytest.fixture
def app(store: CountedStore, tmp_path: Path) -> HttpMiddleware:
    """A collector that never polls the registry."""
    settings = Settings(data_dir=str(tmp_path))
    return lone_collector(InMemoryProducer(), RegistryFollower(store), lambda: NOW, settings)


def test_a_new_link_redirects_at_once(app: HttpMiddleware, store: CountedStore) -> None:
    owner = store.create(validation.new_organization("Acme", "pro", NOW))
    link = store.create(validation.new_link(owner.id, "Spring", "https://t.example/", NOW))
    before = store.reads

    statuses = [request_once(app, "GET", f"/l/{slug}").status for slug in (link.slug, "no", "no")]

    assert statuses == [302, 404, 404]
    assert store.reads - before == 2  # an unknown slug is looked for once


def test_new_records_work_at_once(app: HttpMiddleware, store: CountedStore) -> None:
    owner = store.create(validation.new_organization("Acme", "pro", NOW))
    website = store.create(validation.new_website(owner.id, "shop.example", NOW))

    by_website = request_once(app, "POST", f"/track?website_id={website.id}", {"name": "a"})

    key, text = validation.new_key(owner.id, ["track:events"], NOW)
    store.create(key)
    headers = {"x-api-key": text}
    by_key = request_once(app, "POST", "/track", {"name": "a"}, headers)

    record = store.create(validation.new_import(website, "old.csv", NOW))
    line = {"name": "a", "timestamp": NOW - 1000}
    imported = request_once(app, "POST", f"/import?import_id={record.id}", [line], headers)

    later = store.create(validation.new_website(owner.id, "later.example", NOW))
    in_body = request_once(app, "POST", "/track", {"name": "a", "websiteId": later.id})

    third = store.create(validation.new_website(owner.id, "third.example", NOW))
    items = [{"name": "a", "websiteId": website.id}, {"name": "a", "websiteId": third.id}]
    in_items = request_once(app, "POST", "/track", items, headers)

    fourth = store.create(validation.new_website(owner.id, "fourth.example", NOW))
    mixed_items = [{"type": "custom", "name": "a", "websiteId": fourth.id}]
    mixed = request_once(app, "POST", "/batch", mixed_items)

    replies = (by_website, by_key, imported, in_body, in_items, mixed)
    assert [reply.status for reply in replies] == [200] * 6
    assert "rejected" not in json.loads(in_items.body)


def test_a_new_website_can_be_queried_at_once(tmp_path: Path) -> None:
    """The service never polls the registry here, and reads the body before it finds the website."""
    service = start_service(tmp_path)
    website = service.store.create(validation.new_website("acme", "new.example", NOW))

    replies = [service.query("summary", subject=subject) for subject in (website.id, "nowhere")]

    assert [reply.status for reply in replies] == [200, 403]


@pytest.mark.parametrize(
    ("url", "headers", "status"),
    [
        ("/track?website_id=web_unknown", {}, 403),
        ("/track", {"x-api-key": "tm_unknown_secret"}, 401),
    ],
)
def test_an_unknown_id_is_looked_for_once(
    app: HttpMiddleware, store: CountedStore, url: str, headers: dict[str, str], status: int
) -> None:
    before = store.reads

    replies = [request_once(app, "POST", url, {"name": "a"}, headers) for _ in range(5)]

    assert {reply.status for reply in replies} == {status}
    assert store.reads - before == 1


def test_requests_at_the_same_time_share_reads(app: HttpMiddleware, store: CountedStore) -> None:
    async def flood() -> list[int]:
        requests = [
            send_request(app, "POST", f"/track?website_id=web_{n}", [b'{"name":"a"}'], {})
            for n in range(3 * MAX_WAITING)
        ]
        return [reply.status for reply in await asyncio.gather(*requests)]

    before = store.reads
    assert set(asyncio.run(flood())) == {403}
    assert store.reads - before <= 2 < BURST_READS


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("/track", {"x-api-key": "no key"}),
        (f"/track?website_id={'x' * 100}", {}),
        ("/track", {}),
    ],
    ids=["malformed key", "malformed website", "no id"],
)
def test_malformed_ids_cause_no_read(
    app: HttpMiddleware, store: CountedStore, url: str, headers: dict[str, str]
) -> None:
    before = store.reads

    reply = request_once(app, "POST", url, {"name": "a"}, headers)

    assert (reply.status in (401, 403), store.reads) == (True, before)
