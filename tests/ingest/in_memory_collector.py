"""A collector on the test bench: a registry of three websites, a list instead of Kafka."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from ingest.app import SECRETS, create_app
from ingest.publishing.acknowledged_counts import Acknowledgements
from ingest.publishing.anonymous_id import DailySecrets
from ingest.publishing.partition_queue import Answer, Outcome, Ticket
from ingest.publishing.recent_requests import Recent
from ingest.visitor import Visitors
from schemas.envelope import Envelope, join, open_chunk
from schemas.errors import TooLarge, Unavailable
from schemas.http.middleware import Edge
from schemas.registry import (
    Import,
    ImportState,
    Key,
    Link,
    Organization,
    Scope,
    Snapshot,
    Website,
)
from schemas.registry.contents import Stamp
from schemas.registry.validation import new_key
from schemas.runtime.settings import Settings
from tests.asgi_client import ADDRESS, ask
from tests.http_client import Reply

NOW = 1_795_000_000_000
"""2026-11-18T11:06:40Z"""


class Sent(Struct):
    """One request as it was put into the outbox."""

    topic: str
    place: int
    envelopes: list[Envelope]

    @property
    def items(self) -> list[Any]:
        """The items of the first envelope."""
        return list(msgspec.json.decode(self.envelopes[0].items))


class ListOutbox:
    """Keeps what is sent, and answers as it is told."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.outcome = Outcome.ACKNOWLEDGED
        self.topic_id = ""
        self.outcomes: dict[str, Outcome] = {}
        """Of topics that are answered otherwise."""
        self.refusing: str | None = None
        self.too_large: set[str] = set()
        """Topics for which everything is too large."""

    def put(self, topic: str, place: int, envelopes: Sequence[bytes], items: int) -> Ticket:
        if self.refusing is not None:
            raise Unavailable(self.refusing)
        if topic in self.too_large:
            raise TooLarge("too large")
        self.sent.append(Sent(topic, place, open_chunk(join(envelopes)).envelopes))
        assert items == sum(envelope.count for envelope in self.sent[-1].envelopes)
        answered = asyncio.get_running_loop().create_future()
        answered.set_result(
            Answer(self.outcomes.get(topic, self.outcome), place % 8, len(self.sent), self.topic_id)
        )
        return Ticket(answered, 7)


class FixedRegistry(Struct):
    """A snapshot that stays."""

    snapshot: Snapshot
    trouble: str | None = None


class Bench(Struct):
    """The application and everything that it was handed."""

    app: Edge
    outbox: ListOutbox
    registry: FixedRegistry
    keys: Mapping[str, str]
    """Texts of keys by what they are: acme, acme-shop, solo, reader."""
    recent: Recent

    def get(self, path: str) -> Reply:
        """GET, as a page's image."""
        return ask(self.app, "GET", path)

    def post(
        self,
        path: str,
        body: object,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        address: str = ADDRESS,
    ) -> Reply:
        """POST; `key` by its name on this bench."""
        given = dict(headers or {})
        if key is not None:
            given["authorization"] = f"Bearer {self.keys[key]}"
        return ask(self.app, "POST", path, body, given, address)

    def agree(self, organization_id: str, **limits: int) -> None:
        """Give an organization limits of its own."""
        kept = self.registry.snapshot
        changed = msgspec.structs.replace(kept.organizations[organization_id], limits=limits)
        found = MappingProxyType({**kept.organizations, organization_id: changed})
        self.registry.snapshot = msgspec.structs.replace(kept, organizations=found)


def bench(folder: Path, account: Acknowledgements | None = None, **settings: Any) -> Bench:
    """Acme has shop and blog, Solo has solo; each has a link."""
    outbox = ListOutbox()
    keys, texts = _keys()
    registry = FixedRegistry(_snapshot(keys))
    chosen, recent = Settings(data_dir=str(folder), **settings), Recent()
    app = create_app(outbox, registry, lambda: NOW, chosen, recent=recent, acknowledged=account)
    return Bench(app, outbox, registry, texts, recent)


def visitors(folder: Path) -> Visitors:
    """Those of the bench in the folder."""
    return Visitors(DailySecrets(folder / SECRETS))


def _keys() -> tuple[dict[str, Key], dict[str, str]]:
    wanted = {
        "acme": ("acme", Scope.TRACK_EVENTS, None),
        "acme-shop": ("acme", Scope.TRACK_EVENTS, "shop"),
        "solo": ("solo-org", Scope.TRACK_EVENTS, None),
        "reader": ("acme", Scope.READ_DATA, None),
    }
    keys, texts = {}, {}
    for name, (organization, scope, website) in wanted.items():
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
        stamp=Stamp("", 1),
        organizations=MappingProxyType(organizations),
        websites=MappingProxyType(websites),
        links=MappingProxyType({link.id: link for link in links.values()}),
        links_by_slug=MappingProxyType(links),
        keys=MappingProxyType(keys),
        websites_of=MappingProxyType({"acme": ("shop", "blog"), "solo-org": ("solo",)}),
        imports=MappingProxyType({one.id: one for one in _imports(stamps)}),
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
