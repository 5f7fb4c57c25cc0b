"""Snapshot: the whole registry in memory, updated copy-on-write.

A change copies the dictionary of its kind, which is quick by `copy` or `|` of a mapping proxy.
"""

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Self, TypeVar

import msgspec

from schemas.receipts import ReceiptKey
from schemas.registry.api_keys import parse_key, secret_matches
from schemas.registry.contents import ChangesSince, Contents, RegistryVersion
from schemas.registry.privacy import DEFAULT_PRIVACY, Privacy
from schemas.registry.record_mapping import kind_name
from schemas.registry.records import (
    Account,
    Erasure,
    Import,
    Key,
    Link,
    Member,
    Organization,
    Record,
    Website,
)
from schemas.registry.saved_record_index import SavedRecordIndex
from schemas.registry.saved_records import SAVED_RECORDS, Alias
from schemas.registry.store import RegistryStore
from schemas.registry.tombstones import NO_TOMBSTONES, TombstoneKey, Tombstones, tombstones_of
from schemas.registry.tracker_ids import normal_name
from schemas.registry.website_contracts import NO_CONTRACTS, WebsiteContracts, updated_contracts

SnapshotRecordT = TypeVar("SnapshotRecordT", bound=Record)


class Snapshot(msgspec.Struct, frozen=True, weakref=True):
    """All records at one revision, by id and other lookup keys."""

    version: RegistryVersion
    organizations: MappingProxyType[str, Organization]
    websites: MappingProxyType[str, Website]
    links: MappingProxyType[str, Link]
    links_by_slug: MappingProxyType[str, Link]
    keys: MappingProxyType[str, Key]
    accounts: MappingProxyType[str, Account] = MappingProxyType({})
    members: MappingProxyType[str, Member] = MappingProxyType({})
    websites_by_organization: MappingProxyType[str, tuple[str, ...]] = MappingProxyType({})
    """Website ids by organization."""
    contracts: WebsiteContracts = NO_CONTRACTS
    """Of the websites that have an event contract."""
    imports: MappingProxyType[str, Import] = MappingProxyType({})
    saved: SavedRecordIndex = SavedRecordIndex()
    """By website."""
    aliases: MappingProxyType[tuple[str, str], str] = MappingProxyType({})
    """Website ids by product and the id that its trackers send."""
    tees: MappingProxyType[tuple[str, str], str] = MappingProxyType({})
    """Where copies of requests with such an id are sent, for those that have an address."""
    erasures: MappingProxyType[str, Erasure] = MappingProxyType({})
    """Of all states: their tombstones stay."""
    tombstones: Tombstones = NO_TOMBSTONES
    """Of these erasures."""
    receipt_key: ReceiptKey = msgspec.field(default_factory=lambda: ReceiptKey(""))
    """Signs and verifies receipts."""
    key_uses: dict[str, int] = {}
    """Last use of keys by id: the only mutable part; the follower writes it to the database."""

    @classmethod
    def read(cls, store: RegistryStore) -> Self:
        """Read the current registry."""
        return cls.from_contents(store.read_contents())

    @classmethod
    def from_contents(cls, contents: Contents) -> Self:
        """Build a snapshot from contents."""
        websites = MappingProxyType({w.id: w for w in contents.websites})
        links = MappingProxyType({link.id: link for link in contents.links})
        key = TombstoneKey(contents.receipt_secret)
        saved = SavedRecordIndex().updated((), contents.saved_records())
        return cls(
            version=contents.stamp,
            organizations=MappingProxyType({o.id: o for o in contents.organizations}),
            websites=websites,
            links=links,
            links_by_slug=MappingProxyType({link.slug: link for link in contents.links}),
            keys=MappingProxyType({key.id: key for key in contents.keys}),
            accounts=MappingProxyType({account.id: account for account in contents.accounts}),
            members=MappingProxyType({member.id: member for member in contents.members}),
            websites_by_organization=_group_websites(contents.websites),
            contracts=updated_contracts(NO_CONTRACTS, contents.websites),
            imports=MappingProxyType({import_.id: import_ for import_ in contents.imports}),
            saved=saved,
            aliases=_by_alias(saved),
            tees=_tees(saved),
            erasures=MappingProxyType({erasure.id: erasure for erasure in contents.erasures}),
            tombstones=tombstones_of(contents.erasures, websites, links, key),
            receipt_key=ReceiptKey(contents.receipt_secret),
        )

    def apply(self, changes: ChangesSince) -> Self | None:
        """The next snapshot, which shares unchanged records with this one.

        None when an owner was deleted: the trail does not list the records deleted with it.
        """
        now, deleted = changes.changed, changes.deleted_ids
        owners = (Organization, Website, Account, Member)
        if any(kind_name(owner) in deleted for owner in owners):
            return None
        websites = _merged(self.websites, now.websites)
        deleted_links = deleted.get(kind_name(Link), ())
        links = _merged(self.links, now.links, deleted_links)
        erasures = _merged(self.erasures, now.erasures, deleted.get(kind_name(Erasure), ()))
        tombstones = self.tombstones
        if erasures is not self.erasures or (tombstones and (now.websites or now.links)):
            tombstones = tombstones_of(erasures.values(), websites, links, tombstones.key)
        saved = self.saved.updated(
            [name for kind in SAVED_RECORDS for name in deleted.get(kind_name(kind), ())],
            now.saved_records(),
        )
        return msgspec.structs.replace(
            self,
            version=now.stamp,
            organizations=_merged(self.organizations, now.organizations),
            websites=websites,
            links=links,
            links_by_slug=self._links_by_slug(now.links, deleted_links),
            keys=_merged(self.keys, now.keys, deleted.get(kind_name(Key), ())),
            accounts=_merged(self.accounts, now.accounts, deleted.get(kind_name(Account), ())),
            members=_merged(self.members, now.members, deleted.get(kind_name(Member), ())),
            websites_by_organization=_group_websites(websites.values())
            if now.websites
            else self.websites_by_organization,
            contracts=updated_contracts(self.contracts, now.websites),
            imports=_merged(self.imports, now.imports, deleted.get(kind_name(Import), ())),
            erasures=erasures,
            tombstones=tombstones,
            saved=saved,
            aliases=_by_alias(saved)
            if now.aliases or deleted.get(kind_name(Alias))
            else self.aliases,
            tees=_tees(saved) if now.aliases or deleted.get(kind_name(Alias)) else self.tees,
        )

    def owner_of(self, subject_id: str) -> str | None:
        """The organization of a website or link, or of what was sent for it without one."""
        owned = self.websites.get(subject_id) or self.links.get(subject_id)
        if owned is not None:
            return owned.organization_id
        return subject_id if subject_id in self.organizations else None

    def registered_alias(self, product: str, name: str) -> tuple[str, str] | None:
        """The key in `aliases` and `tees` of an id that a tracker sends; None for a website id,
        which wins over an alias of that name."""
        keys = ((product, name), (product, normal_name(product, name)))
        return next(
            (key for key in keys if key in self.aliases and name not in self.websites), None
        )

    def website_of_tracker(self, product: str, name: str) -> str | None:
        """The id of the website that a tracker names by its id or an alias."""
        key = self.registered_alias(product, name)
        return self.aliases[key] if key else name if name in self.websites else None

    def privacy_of(self, subject_id: str) -> Privacy:
        """The privacy of a website; the default for other subjects."""
        website = self.websites.get(subject_id)
        return DEFAULT_PRIVACY if website is None else website.privacy

    def find_key(self, text: str, now_ms: int) -> Key | None:
        """The active key with this text, or None."""
        parts = parse_key(text)
        key = self.keys.get(parts[0]) if parts else None
        if parts is None or key is None or not secret_matches(parts[1], key.secret_hash):
            return None
        return key if self.use_key(key, now_ms) else None

    def use_key(self, key: Key, now_ms: int) -> bool:
        """Whether a key of this snapshot is active; then it counts as used."""
        if not key.is_active(now_ms):
            return False
        self.key_uses[key.id] = now_ms
        return True

    def _links_by_slug(
        self, changed: Sequence[Link], deleted: Sequence[str]
    ) -> MappingProxyType[str, Link]:
        """Links by slug; one link may have taken over the slug of another."""
        if not changed and not deleted:
            return self.links_by_slug
        links = self.links_by_slug.copy()
        for link_id in (*deleted, *(link.id for link in changed)):
            if link_id in self.links:
                links.pop(self.links[link_id].slug, None)
        links.update((link.slug, link) for link in changed)
        return MappingProxyType(links)


def _merged(
    before: MappingProxyType[str, SnapshotRecordT],
    changed: Sequence[SnapshotRecordT],
    deleted: Sequence[str] = (),
) -> MappingProxyType[str, SnapshotRecordT]:
    if not changed and not deleted:
        return before
    entries = before | {record.id: record for record in changed}
    for record in deleted:
        entries.pop(record, None)
    return MappingProxyType(entries)


def _by_alias(saved: SavedRecordIndex) -> MappingProxyType[tuple[str, str], str]:
    return MappingProxyType({(one.product, one.name): one.website_id for one in saved.aliases()})


def _tees(saved: SavedRecordIndex) -> MappingProxyType[tuple[str, str], str]:
    return MappingProxyType(
        {(one.product, one.name): one.tee_url for one in saved.aliases() if one.tee_url}
    )


def _group_websites(websites: Iterable[Website]) -> MappingProxyType[str, tuple[str, ...]]:
    owned: dict[str, list[str]] = {}
    for website in websites:
        owned.setdefault(website.organization_id, []).append(website.id)
    return MappingProxyType({owner: tuple(ids) for owner, ids in owned.items()})
