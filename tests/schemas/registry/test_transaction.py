"""Each write is logged in its transaction, and followers read that log alone."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from schemas.registry import (
    Import,
    ImportState,
    Key,
    Link,
    Organization,
    RegistryFollower,
    RegistryStore,
    Snapshot,
    Website,
    validation,
)
from schemas.registry import transaction as registry_writing
from schemas.registry.database import create_engine
from schemas.registry.record_mapping import RecordT
from schemas.registry.transaction import OwnerMissing

NOW = 1_795_248_000_000


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
def store(url: str) -> Iterator[RegistryStore]:
    store = RegistryStore(url, "cli:ann", lambda: NOW)
    yield store
    store.close()


@pytest.fixture
def owner(store: RegistryStore) -> Organization:
    return store.create(validation.new_organization("Acme", "free", NOW))


def a_link(owner: Organization, slug: str) -> Link:
    return validation.new_link(owner.id, "A", "https://a.example/", NOW, slug=slug)


def reading_everything(_store: RegistryStore) -> None:
    raise AssertionError("everything was read")


def test_a_change_of_one_link_is_all_that_is_read(
    store: RegistryStore, owner: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = [store.create(a_link(owner, f"slug-{n}")) for n in range(20)]
    follower = RegistryFollower(store)
    before = follower.snapshot
    monkeypatch.setattr(RegistryStore, "read_contents", reading_everything)

    store.update(Link, links[0].id, NOW + 1, name="Renamed")
    store.delete(Link, links[1].id)
    after = follower.refresh()

    assert after.links[links[0].id].name == after.links_by_slug["slug-0"].name == "Renamed"
    assert (links[1].id in after.links, after.links_by_slug.get("slug-1")) == (False, None)
    assert (len(after.links), len(after.links_by_slug)) == (19, 19)
    assert (len(before.links), before.links_by_slug["slug-1"]) == (20, links[1])
    assert after.links[links[2].id] is before.links[links[2].id]


def test_a_slug_that_moves_to_another_link_leads_to_that_link(
    store: RegistryStore, owner: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = store.create(a_link(owner, "spring")), store.create(a_link(owner, "summer"))
    follower = RegistryFollower(store)
    monkeypatch.setattr(RegistryStore, "read_contents", reading_everything)

    store.update(Link, first.id, NOW, slug="autumn")
    store.update(Link, second.id, NOW, slug="spring")
    found = follower.refresh().links_by_slug

    assert {slug: found[slug].id for slug in found} == {"autumn": first.id, "spring": second.id}


def test_applying_changes_gives_the_same_snapshot_as_reading_everything(
    store: RegistryStore,
) -> None:
    chance, follower = random.Random(7), RegistryFollower(store)
    for step in range(80):
        chance.choice(STEPS)(store, chance, step)
        if chance.random() < 0.5:
            assert follower.refresh() == Snapshot.read(store), step
    assert follower.refresh() == Snapshot.read(store)


def one_of(store: RegistryStore, kind: type[RecordT], chance: random.Random) -> RecordT | None:
    found = store.list(kind)
    return chance.choice(found) if found else None


def organizations_change(store: RegistryStore, chance: random.Random, step: int) -> None:
    store.create(validation.new_organization(f"Organization {step}", "free", NOW + step))
    if (gone := one_of(store, Organization, chance)) and chance.random() < 0.2:
        store.delete(Organization, gone.id)


def websites_change(store: RegistryStore, chance: random.Random, step: int) -> None:
    if owner := one_of(store, Organization, chance):
        website = store.create(validation.new_website(owner.id, "a.example", NOW + step))
        store.create(validation.new_import(website, "a.csv", NOW + step))
        store.update(Website, website.id, NOW + step, name=f"Website {step}")
    if (gone := one_of(store, Website, chance)) and chance.random() < 0.2:
        store.delete(Website, gone.id)


def keys_change(store: RegistryStore, chance: random.Random, step: int) -> None:
    if owner := one_of(store, Organization, chance):
        store.create(validation.new_key(owner.id, ["admin"], NOW + step)[0])
    if key := one_of(store, Key, chance):
        store.update(Key, key.id, NOW + step, revoked_at=NOW + step)
    if (gone := one_of(store, Key, chance)) and chance.random() < 0.5:
        store.delete(Key, gone.id)


def links_change(store: RegistryStore, chance: random.Random, step: int) -> None:
    if owner := one_of(store, Organization, chance):
        store.create(a_link(owner, f"slug-{step}"))
    if link := one_of(store, Link, chance):
        store.update(Link, link.id, NOW + step, slug=f"new-{step}")
    if gone := one_of(store, Link, chance):
        store.delete(Link, gone.id)


def imports_change(store: RegistryStore, chance: random.Random, step: int) -> None:
    if one := one_of(store, Import, chance):
        store.update(Import, one.id, NOW + step, state=ImportState.UNDOING)


STEPS: tuple[Callable[[RegistryStore, random.Random, int], None], ...] = (
    organizations_change,
    websites_change,
    keys_change,
    links_change,
    imports_change,
)


def test_writes_of_a_version_without_audit_trail_are_read(
    url: str, store: RegistryStore, owner: Organization
) -> None:
    follower = RegistryFollower(store)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE organizations SET name = 'By an older version'"))
        connection.execute(sa.text("UPDATE revision SET number = number + 1"))
    engine.dispose()

    assert follower.refresh().organizations[owner.id].name == "By an older version"
    store.update(Organization, owner.id, NOW, name="Again")
    assert follower.refresh().organizations[owner.id].name == "Again"


def test_a_failed_write_leaves_no_audit_trail(store: RegistryStore, owner: Organization) -> None:
    store.create(a_link(owner, "spring"))
    before = store.changes(10)

    with pytest.raises(registry_writing.RecordConflict):
        store.create(a_link(owner, "spring"))

    assert store.changes(10) == before


def test_old_changes_of_links_are_pruned_and_those_of_keys_stay(
    store: RegistryStore, owner: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_writing, "KEPT_CHANGES", 3)
    monkeypatch.setattr(registry_writing, "PRUNE_INTERVAL", 5)
    follower = RegistryFollower(store)
    key, _ = validation.new_key(owner.id, ["admin"], NOW)
    store.create(key)
    link = store.create(a_link(owner, "spring"))
    for number in range(7):
        store.update(Link, link.id, NOW, name=f"Name {number}")

    assert [change.number for change in store.changes(20)] == [10, 9, 8, 7, 2, 1]
    assert follower.refresh() == Snapshot.read(store)


def test_values_of_old_changes_of_links_are_pruned_and_those_of_keys_stay(
    store: RegistryStore, owner: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_writing, "KEPT_VALUES", 3)
    monkeypatch.setattr(registry_writing, "PRUNE_INTERVAL", 5)
    key, _ = validation.new_key(owner.id, ["admin"], NOW)
    store.create(key)
    link = store.create(a_link(owner, "spring"))
    for number in range(7):
        store.update(Link, link.id, NOW, name=f"Name {number}")

    trail = store.changes(20)

    assert [change.number for change in trail if change.after] == [10, 9, 8, 7, 2, 1]
    assert [change.fields for change in trail[:8]] == [*[("name",)] * 7, ()]


def test_a_key_of_a_website_that_is_deleted_at_once_has_no_owner(
    store: RegistryStore, owner: Organization
) -> None:
    """Whichever of the two is first: no other error, and no key that outlives its website."""

    def create(website: Website) -> bool:
        try:
            store.create(validation.new_key(owner.id, ["read:data"], NOW, website.id)[0])
        except OwnerMissing:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        for n in range(20):
            website = store.create(validation.new_website(owner.id, f"{n}.example", NOW))
            created = [threads.submit(create, website) for _ in range(2)]
            deleted = threads.submit(store.delete, Website, website.id)
            created += [threads.submit(create, website) for _ in range(2)]
            deleted.result()
            assert {each.result() for each in created} <= {True, False}
            assert not create(website)
    assert store.list(Key) == []
