"""A collector in this process: a registry with three websites, and a list instead of Kafka."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from ingest.app import ENDPOINTS, SALTS_FOLDER
from ingest.dependencies import CollectorEndpoint
from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.anonymous_id import AnonymousIds, DailySalts
from ingest.publishing.partition_queue import DeliveryReport, DeliveryStatus, PendingDelivery
from ingest.publishing.recent_requests import RecentRequests
from ingest.publishing.tee import Tee
from schemas.envelope import Envelope, decode_chunk, encode_chunk
from schemas.errors import PayloadTooLarge, Unavailable
from schemas.http.middleware import HttpMiddleware
from schemas.registry import (
    Import,
    ImportState,
    Key,
    KeyScope,
    Link,
    Organization,
    Snapshot,
    Website,
)
from schemas.registry.contents import RegistryVersion
from schemas.registry.privacy import Privacy
from schemas.registry.validation import new_key
from schemas.registry.website_contracts import updated_contracts
from schemas.runtime.settings import Settings
from tests.asgi_client import ADDRESS, request_once
from tests.http_client import Reply
from tests.ingest.lone_collector import lone_collector

NOW = 1_795_000_000_000
"""2026-11-18T11:06:40Z"""


class PublishedRequest(Struct):
    """One request as it was passed to the producer."""

    topic: str
    partition_key: int
    envelopes: list[Envelope]

    @property
    def items(self) -> list[Any]:
        """The items of the first envelope."""
        return list(msgspec.json.decode(self.envelopes[0].items))


class InMemoryProducer:
    """Keeps what is published; tests choose the outcomes."""

    def __init__(self) -> None:
        self.sent: list[PublishedRequest] = []
        self.outcome = DeliveryStatus.ACKNOWLEDGED
        self.topic_id = ""
        self.outcomes: dict[str, DeliveryStatus] = {}
        """Outcomes by topic, where they differ."""
        self.unavailable_reason: str | None = None
        self.partition_problem: str | None = None
        self.too_large: set[str] = set()
        """Topics for which everything is too large."""

    def enqueue(
        self, topic: str, partition_key: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        if self.unavailable_reason is not None:
            raise Unavailable(self.unavailable_reason)
        if topic in self.too_large:
            raise PayloadTooLarge("too large")
        self.sent.append(
            PublishedRequest(topic, partition_key, decode_chunk(encode_chunk(envelopes)).envelopes)
        )
        assert items == sum(envelope.count for envelope in self.sent[-1].envelopes)
        report = asyncio.get_running_loop().create_future()
        report.set_result(
            DeliveryReport(
                self.outcomes.get(topic, self.outcome),
                partition_key % 8,
                len(self.sent),
                self.topic_id,
            )
        )
        return PendingDelivery(report, 7)


class FixedSnapshotSource(Struct):
    """A registry snapshot that does not change by itself."""

    snapshot: Snapshot
    error: str | None = None

    async def newer_than(self, snapshot: Snapshot, ids: Collection[str]) -> bool:
        return self.snapshot is not snapshot


class InMemoryCollector(Struct):
    """The application and its dependencies."""

    app: HttpMiddleware
    producer: InMemoryProducer
    registry: FixedSnapshotSource
    keys: Mapping[str, str]
    """API keys by name: acme, acme-shop, solo, reader."""
    recent: RecentRequests
    tee: Tee

    def get(self, path: str) -> Reply:
        """GET, like an image of a page."""
        return request_once(self.app, "GET", path)

    def post(
        self,
        path: str,
        body: object,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        address: str = ADDRESS,
    ) -> Reply:
        """POST; `key` by its name in `keys`."""
        all_headers = dict(headers or {})
        if key is not None:
            all_headers["authorization"] = f"Bearer {self.keys[key]}"
        return request_once(self.app, "POST", path, body, all_headers, address)

    def add_alias(
        self, product: str, name: str, website_id: str = "shop", tee_url: str = ""
    ) -> None:
        """Register the id that a product's trackers send."""
        snapshot, key = self.registry.snapshot, (product, name)
        self.registry.snapshot = msgspec.structs.replace(
            snapshot,
            aliases=MappingProxyType({**snapshot.aliases, key: website_id}),
            tees=MappingProxyType({**snapshot.tees, key: tee_url}) if tee_url else snapshot.tees,
        )

    def set_privacy(self, website_id: str, privacy: Privacy) -> None:
        """Give a website privacy settings."""
        snapshot = self.registry.snapshot
        website = msgspec.structs.replace(snapshot.websites[website_id], privacy=privacy)
        websites = MappingProxyType({**snapshot.websites, website_id: website})
        self.registry.snapshot = msgspec.structs.replace(snapshot, websites=websites)

    def set_allowed_origins(self, website_id: str, *origins: str) -> None:
        """Let pages of these origins alone send for a website."""
        snapshot = self.registry.snapshot
        website = msgspec.structs.replace(snapshot.websites[website_id], allowed_origins=origins)
        websites = MappingProxyType({**snapshot.websites, website_id: website})
        self.registry.snapshot = msgspec.structs.replace(snapshot, websites=websites)

    def set_limits(self, organization_id: str, **limits: int) -> None:
        """Give an organization limits of its own."""
        snapshot = self.registry.snapshot
        organization = msgspec.structs.replace(
            snapshot.organizations[organization_id], limits=limits
        )
        organizations = MappingProxyType({**snapshot.organizations, organization_id: organization})
        self.registry.snapshot = msgspec.structs.replace(snapshot, organizations=organizations)

    def set_contract(self, website_id: str, contract: Mapping[str, Any], enforce: str) -> None:
        """Give a website an event contract."""
        snapshot = self.registry.snapshot
        value = {"contract": contract, "enforce": enforce}
        website = msgspec.structs.replace(snapshot.websites[website_id], contract=value)
        contracts = updated_contracts(snapshot.contracts, [website])
        self.registry.snapshot = msgspec.structs.replace(snapshot, contracts=contracts)


def in_memory_collector(
    folder: Path,
    acknowledged_counter: AcknowledgedCounter | None = None,
    endpoints: Sequence[CollectorEndpoint] = ENDPOINTS,
    **settings: Any,
) -> InMemoryCollector:
    """Acme has shop and blog, Solo has solo; each has a link."""
    producer = InMemoryProducer()
    keys, texts = _keys()
    registry = FixedSnapshotSource(_snapshot(keys))
    resolved_settings, recent = Settings(data_dir=str(folder), **settings), RecentRequests()
    tee = Tee(resolved_settings)
    parts: dict[str, Any] = {"recent_requests": recent, "tee": tee}
    if acknowledged_counter is not None:
        parts["acknowledged_counter"] = acknowledged_counter
    app = lone_collector(producer, registry, lambda: NOW, resolved_settings, endpoints, **parts)
    return InMemoryCollector(app, producer, registry, texts, recent, tee)


def anonymous_ids(folder: Path) -> AnonymousIds:
    """The anonymous ids of the collector with this data folder."""
    return AnonymousIds(DailySalts(folder / SALTS_FOLDER))


def _keys() -> tuple[dict[str, Key], dict[str, str]]:
    key_specs = {
        "acme": ("acme", KeyScope.TRACK_EVENTS, None),
        "acme-shop": ("acme", KeyScope.TRACK_EVENTS, "shop"),
        "solo": ("solo-org", KeyScope.TRACK_EVENTS, None),
        "reader": ("acme", KeyScope.READ_DATA, None),
    }
    keys, texts = {}, {}
    for name, (organization, scope, website) in key_specs.items():
        key, texts[name] = new_key(organization, [scope], NOW, website)
        keys[key.id] = key
    return keys, texts


def _snapshot(keys: dict[str, Key]) -> Snapshot:
    stamps: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}
    organizations = {
        id: Organization(id=id, name=id, plan="free", **stamps) for id in ("acme", "solo-org")
    }
    owners = {"shop": "acme", "blog": "acme", "solo": "solo-org"}
    websites = {
        id: Website(id=id, organization_id=owner, domain=f"{id}.example", **stamps)
        for id, owner in owners.items()
    }
    links = {link.slug: link for link in _links(stamps)}
    return Snapshot(
        version=RegistryVersion("", 1),
        organizations=MappingProxyType(organizations),
        websites=MappingProxyType(websites),
        links=MappingProxyType({link.id: link for link in links.values()}),
        links_by_slug=MappingProxyType(links),
        keys=MappingProxyType(keys),
        websites_by_organization=MappingProxyType(
            {"acme": ("shop", "blog"), "solo-org": ("solo",)}
        ),
        imports=MappingProxyType({import_.id: import_ for import_ in _imports(stamps)}),
    )


def _imports(stamps: dict[str, Any]) -> list[Import]:
    owner: dict[str, Any] = {"organization_id": "acme", "website_id": "shop", "name": "a.csv"}
    return [
        Import(id="imp_1", **owner, **stamps),
        Import(id="imp_2", state=ImportState.UNDOING, **owner, **stamps),
    ]


def _links(stamps: dict[str, Any]) -> list[Link]:
    spring: dict[str, Any] = {
        "organization_id": "acme",
        "name": "Spring",
        "target_url": "https://t.example/a?b=c",
    }
    return [
        Link(id="lnk_1", slug="spring", **spring, **stamps),
        Link(id="lnk_2", slug="gone", expires_at=NOW, **spring, **stamps),
        Link(
            id="lnk_3", slug="moved", expires_at=NOW - 1,
            expired_redirect_url="https://t.example/over", **spring, **stamps,
        ),
        Link(
            id="lnk_4", slug="app", ios_url="https://apps.example/ios",
            android_url="https://apps.example/android", **spring, **stamps,
        ),
        Link(
            id="lnk_5", slug="shown", og_title='Spring & "more"',
            og_image_url="https://t.example/a.png?x=1&y=2", **spring, **stamps,
        ),
    ]  # fmt: skip
