"""Tombstones: keyed hashes of erased values, by which rows that come back are recognized.

A tombstone is `selector:` and a keyed hash. It does not say what was erased to anybody who lacks
the secret of the registry; whoever has the secret and an id can tell whether it was erased.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct, structs

from schemas.registry.records import Erasure, ErasureState, Link, Selector, Website

HASH_BYTES = 16


class TombstoneKey:
    """Hashes values with a secret of the registry (BLAKE2b, RFC 7693)."""

    def __init__(self, secret: str) -> None:
        key = bytes.fromhex(secret) or os.urandom(32)
        self._keyed = hashlib.blake2b(digest_size=HASH_BYTES, key=key, person=b"tombstone")

    def tombstone(self, selector: Selector, value: str, property_name: str = "") -> str:
        """The tombstone of a value."""
        keyed = self._keyed.copy()
        keyed.update(f"{selector}\0{property_name}\0{value}".encode(errors="surrogatepass"))
        return f"{selector}:{keyed.hexdigest()}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TombstoneKey) and self._check() == other._check()

    def __hash__(self) -> int:
        return hash(self._check())

    def _check(self) -> bytes:
        return self._keyed.copy().digest()


class SubjectTombstones(Struct, frozen=True):
    """The tombstones of one website or link."""

    erasure_ids: Mapping[str, str] = {}
    """By tombstone."""
    selectors: frozenset[Selector] = frozenset()
    property_names: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.erasure_ids)


class Tombstones(Struct, frozen=True):
    """The tombstones of all subjects."""

    key: TombstoneKey
    by_owner: Mapping[str, SubjectTombstones] = {}
    """By website, link or organization."""
    owners: Mapping[str, str] = {}
    """The organization of each website and link, where one has tombstones."""
    unfinished: tuple[Erasure, ...] = ()
    """Erasures that are not done."""

    def __bool__(self) -> bool:
        return bool(self.by_owner)

    def of_subject(self, subject_id: str | None) -> SubjectTombstones:
        """Those of a website or link, its organization's included."""
        if subject_id is None or not self.by_owner:
            return NONE
        of_subject = self.by_owner.get(subject_id, NONE)
        of_organization = self.by_owner.get(self.owners.get(subject_id, ""), NONE)
        if not of_subject or not of_organization:
            return of_subject or of_organization
        return SubjectTombstones(
            {**of_organization.erasure_ids, **of_subject.erasure_ids},
            of_subject.selectors | of_organization.selectors,
            of_subject.property_names | of_organization.property_names,
        )


NONE = SubjectTombstones()
NO_TOMBSTONES = Tombstones(TombstoneKey(""))


def begun_again(erasure: Erasure, now_ms: int) -> Erasure:
    """An erasure whose rows may have come back; a dry run stays as it is."""
    if erasure.state.is_dry_run:
        return erasure
    return structs.replace(erasure, state=ErasureState.PENDING, updated_at=now_ms)


def erasure_subject(erasure: Erasure) -> str:
    """The website or link of an erasure; else the organization."""
    return erasure.website_id or erasure.link_id or erasure.organization_id


def tombstones_of(
    erasures: Collection[Erasure],
    websites: Mapping[str, Website],
    links: Mapping[str, Link],
    key: TombstoneKey,
) -> Tombstones:
    """The tombstones of these erasures; a dry run has none."""
    by_owner: dict[str, list[Erasure]] = {}
    erasures = [erasure for erasure in erasures if not erasure.state.is_dry_run]
    for erasure in erasures:
        by_owner.setdefault(erasure_subject(erasure), []).append(erasure)
    owned = [*websites.values(), *links.values()] if by_owner else []
    return Tombstones(
        key,
        {owner: _of_owner(owner_erasures) for owner, owner_erasures in by_owner.items()},
        {
            record.id: record.organization_id
            for record in owned
            if record.organization_id in by_owner
        },
        tuple(erasure for erasure in erasures if erasure.state is not ErasureState.DONE),
    )


def _of_owner(erasures: Iterable[Erasure]) -> SubjectTombstones:
    ids: dict[str, str] = {}
    names: set[str] = set()
    for erasure in erasures:
        ids.update((value_hash, erasure.id) for value_hash in erasure.value_hashes)
        if erasure.selector is Selector.PROPERTY:
            names.add(erasure.property_name)
    selectors = {Selector(value_hash.partition(":")[0]) for value_hash in ids}
    return SubjectTombstones(ids, frozenset(selectors), frozenset(names))
