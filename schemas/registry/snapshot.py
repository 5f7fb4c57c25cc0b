"""Snapshot: the whole registry in memory, as the HTTP services read it."""

from types import MappingProxyType
from typing import Self

import msgspec

from schemas.registry.keys import proves, split_key
from schemas.registry.records import Import, Key, Link, Organization, Website
from schemas.registry.store import Contents, Stamp, Store


class Snapshot(msgspec.Struct, frozen=True):
    """All records by what they are looked up by."""

    stamp: Stamp
    organizations: MappingProxyType[str, Organization]
    websites: MappingProxyType[str, Website]
    links: MappingProxyType[str, Link]
    links_by_slug: MappingProxyType[str, Link]
    keys: MappingProxyType[str, Key]
    websites_of: MappingProxyType[str, tuple[str, ...]] = MappingProxyType({})
    """Website ids by organization."""
    imports: MappingProxyType[str, Import] = MappingProxyType({})

    @classmethod
    def read(cls, store: Store) -> Self:
        """The registry as it is now."""
        return cls.of(store.everything())

    @classmethod
    def of(cls, kept: Contents) -> Self:
        """The registry as it was at one moment."""
        owned: dict[str, list[str]] = {}
        for website in kept.websites:
            owned.setdefault(website.organization_id, []).append(website.id)
        return cls(
            stamp=kept.stamp,
            organizations=MappingProxyType({o.id: o for o in kept.organizations}),
            websites=MappingProxyType({w.id: w for w in kept.websites}),
            links=MappingProxyType({link.id: link for link in kept.links}),
            links_by_slug=MappingProxyType({link.slug: link for link in kept.links}),
            keys=MappingProxyType({key.id: key for key in kept.keys}),
            websites_of=MappingProxyType({o: tuple(ids) for o, ids in owned.items()}),
            imports=MappingProxyType({one.id: one for one in kept.imports}),
        )

    def key(self, text: str, now_ms: int) -> Key | None:
        """The live key with that text; None when there is none."""
        parts = split_key(text)
        key = self.keys.get(parts[0]) if parts else None
        if parts is None or key is None or not proves(parts[1], key.secret_hash):
            return None
        return key if key.live(now_ms) else None
