"""Snapshot: the whole registry in memory, as the HTTP services read it."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Self, TypeVar

import msgspec

from schemas.receipts import ReceiptKey
from schemas.registry.api_keys import proves, split_key
from schemas.registry.contents import Contents, Since, Stamp
from schemas.registry.persistent_map import Sharded
from schemas.registry.record_mapping import name_of
from schemas.registry.records import Import, Key, Link, Organization, Website
from schemas.registry.store import Store

One = TypeVar("One", Organization, Website, Key, Import)


class Snapshot(msgspec.Struct, frozen=True):
    """All records by what they are looked up by."""

    stamp: Stamp
    organizations: MappingProxyType[str, Organization]
    websites: MappingProxyType[str, Website]
    links: Mapping[str, Link]
    links_by_slug: Mapping[str, Link]
    keys: MappingProxyType[str, Key]
    websites_of: MappingProxyType[str, tuple[str, ...]] = MappingProxyType({})
    """Website ids by organization."""
    imports: MappingProxyType[str, Import] = MappingProxyType({})
    receipts: ReceiptKey = msgspec.field(default_factory=lambda: ReceiptKey(""))
    """Signs receipts and verifies them."""
    uses: dict[str, int] = {}
    """When keys were used last, by id: the only thing here that changes; its follower writes it."""

    @classmethod
    def read(cls, store: Store) -> Self:
        """The registry as it is now."""
        return cls.of(store.everything())

    @classmethod
    def of(cls, kept: Contents) -> Self:
        """The registry as it was at one moment."""
        return cls(
            stamp=kept.stamp,
            organizations=MappingProxyType({o.id: o for o in kept.organizations}),
            websites=MappingProxyType({w.id: w for w in kept.websites}),
            links=Sharded((link.id, link) for link in kept.links),
            links_by_slug=Sharded((link.slug, link) for link in kept.links),
            keys=MappingProxyType({key.id: key for key in kept.keys}),
            websites_of=_websites_of(kept.websites),
            imports=MappingProxyType({one.id: one for one in kept.imports}),
            receipts=ReceiptKey(kept.receipt_secret),
        )

    def after(self, since: Since) -> Self | None:
        """The next snapshot, which shares with this one what was not written.

        None when an owner is gone: what belonged to it went with it, and no log says what.
        """
        now, gone = since.contents, since.gone
        if name_of(Organization) in gone or name_of(Website) in gone:
            return None
        websites = _with(self.websites, now.websites)
        return msgspec.structs.replace(
            self,
            stamp=now.stamp,
            organizations=_with(self.organizations, now.organizations),
            websites=websites,
            **self._links(now.links, gone.get(name_of(Link), ())),
            keys=_with(self.keys, now.keys, gone.get(name_of(Key), ())),
            websites_of=_websites_of(websites.values()) if now.websites else self.websites_of,
            imports=_with(self.imports, now.imports, gone.get(name_of(Import), ())),
        )

    def key(self, text: str, now_ms: int) -> Key | None:
        """The live key with that text; None when there is none."""
        parts = split_key(text)
        key = self.keys.get(parts[0]) if parts else None
        if parts is None or key is None or not proves(parts[1], key.secret_hash):
            return None
        if not key.live(now_ms):
            return None
        self.uses[key.id] = now_ms
        return key

    def _links(self, now: Sequence[Link], gone: Sequence[str]) -> dict[str, Mapping[str, Link]]:
        """Both maps of links; a slug that one gave up may be another's now."""
        if not now and not gone:
            return {}
        before = [self.links.get(one) for one in (*gone, *(link.id for link in now))]
        slugs = [link.slug for link in before if link is not None]
        return {
            "links": _sharded(self.links).changed(gone, {link.id: link for link in now}),
            "links_by_slug": _sharded(self.links_by_slug).changed(
                slugs, {link.slug: link for link in now}
            ),
        }


def _sharded(links: Mapping[str, Link]) -> Sharded[Link]:
    return links if isinstance(links, Sharded) else Sharded(links.items())


def _with(
    before: MappingProxyType[str, One], now: Sequence[One], gone: Sequence[str] = ()
) -> MappingProxyType[str, One]:
    if not now and not gone:
        return before
    entries = {**before, **{one.id: one for one in now}}
    for one in gone:
        entries.pop(one, None)
    return MappingProxyType(entries)


def _websites_of(websites: Iterable[Website]) -> MappingProxyType[str, tuple[str, ...]]:
    owned: dict[str, list[str]] = {}
    for website in websites:
        owned.setdefault(website.organization_id, []).append(website.id)
    return MappingProxyType({owner: tuple(ids) for owner, ids in owned.items()})
