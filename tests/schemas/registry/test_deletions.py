"""Deleted websites and organizations are gone for every reader, and come back as they were."""

from collections.abc import Iterator

import pytest
from msgspec import structs

from schemas.registry import (
    Account,
    Erasure,
    ErasureState,
    Key,
    Link,
    Member,
    Organization,
    RecordConflict,
    RecordNotFound,
    RegistryFollower,
    RegistryStore,
    Selector,
    Snapshot,
    Website,
    validation,
)
from schemas.registry.backups import Backups, read_backup, write_backup
from schemas.registry.contents import Contents
from schemas.registry.records import Action, Deletion
from schemas.registry.restore import restore
from schemas.registry.sign_ins import BrowserSession
from tests.schemas.registry.filled_registry import NOW, furnished


@pytest.fixture
def store(each_url: str) -> Iterator[RegistryStore]:
    store = RegistryStore(each_url, "cli:ann", clock=lambda: NOW + 1)
    yield store
    store.close()


def records(contents: Contents) -> dict[str, object]:
    return {kind.__name__: found for kind, found in contents.by_kind()}


def a_person(store: RegistryStore, organization_id: str, name: str = "anna") -> Account:
    """A member of the organization."""
    email = f"{name}@shop.example"
    account = Account(id=name, email=email, created_at=NOW, updated_at=NOW)
    member = Member(
        id=f"{name}_{organization_id}"[:32],
        organization_id=organization_id,
        account_id=name,
        email=email,
        role="admin",
        created_at=NOW,
        updated_at=NOW,
    )
    store.create(account)
    store.create(member)
    return account


@pytest.mark.parametrize("kind", [Website, Organization])
def test_a_restored_record_has_all_that_belonged_to_it(
    store: RegistryStore, kind: type[Website | Organization]
) -> None:
    owner, website, _, text = furnished(store)
    before = store.read_contents()
    record_id = website.id if kind is Website else owner.id
    follower = RegistryFollower(store)

    store.delete(kind, record_id)
    gone = follower.refresh()
    store.restore_deleted(kind, record_id)

    assert not gone.websites
    assert gone.find_key(text, NOW) is None
    assert records(store.read_contents()) == records(before)
    assert follower.refresh() == Snapshot.read(store)
    assert follower.snapshot.find_key(text, NOW) is not None


def test_erasures_of_a_restored_website_begin_again(store: RegistryStore) -> None:
    """Workers do not have their tombstones in the meantime."""
    owner, website, *_ = furnished(store)
    erasure = validation.new_erasure(
        owner.id, Selector.VISITOR, ["v1"], NOW, store.tombstone_key(), website_id=website.id
    )
    dry_run = structs.replace(erasure, id="era_dry", state=ErasureState.COUNTED)
    of_all = structs.replace(erasure, id="era_all", website_id=None)
    for record in (erasure, dry_run, of_all):
        store.create(record)
    for record in (erasure, of_all):
        store.update(Erasure, record.id, NOW, state=ErasureState.DONE, erased_values=())

    store.delete(Website, website.id)
    store.restore_deleted(Website, website.id)

    restored, restarted = store.get(Erasure, erasure.id), store.get(Erasure, "era_all")
    assert (restored.state, restored.updated_at) == (ErasureState.PENDING, NOW + 1)
    assert (restarted.state, restarted.updated_at) == (ErasureState.PENDING, NOW + 1)
    assert restored.value_hashes == erasure.value_hashes
    assert store.get(Erasure, "era_dry") == dry_run


def test_the_subjects_of_a_deletion_are_its_websites_and_links(store: RegistryStore) -> None:
    owner, website, *_ = furnished(store)
    (link,) = store.list(Link)

    store.delete(Organization, owner.id)

    deletion = store.get(Deletion, owner.id)
    assert (deletion.record_kind, deletion.name) == ("organization", "Acme")
    assert set(deletion.subjects) == {website.id, link.id}
    assert deletion.created_at == NOW + 1


def test_the_trail_has_the_restored_records_without_secrets(store: RegistryStore) -> None:
    _, website, key, _ = furnished(store)
    store.delete(Website, website.id)

    store.restore_deleted(Website, website.id)

    (restored,) = store.changes(1, record_id=website.id)
    assert (restored.action, restored.kind) == (Action.RESTORE, "website")
    (of_key,) = store.changes(1, record_id=key.id)
    assert of_key.after is not None
    assert "secret_hash" not in of_key.after


def test_what_cannot_be_restored_says_why(store: RegistryStore) -> None:
    owner, website, *_ = furnished(store)
    with pytest.raises(RecordNotFound, match=f"no deleted website '{website.id}'"):
        store.restore_deleted(Website, website.id)
    store.delete(Website, website.id)
    with pytest.raises(RecordNotFound, match="no deleted organization"):
        store.restore_deleted(Organization, website.id)
    store.delete(Organization, owner.id)
    with pytest.raises(RecordConflict, match="the organization or website does not exist"):
        store.restore_deleted(Website, website.id)

    other = store.create(validation.new_organization("Globex", "free", NOW))
    new = validation.new_link(other.id, "B", "https://b.example/", NOW, slug="spring")
    store.create(new)
    with pytest.raises(RecordConflict, match="this slug is already taken"):
        store.restore_deleted(Organization, owner.id)
    store.delete(Link, new.id)
    store.restore_deleted(Organization, owner.id)
    store.restore_deleted(Website, website.id)

    assert (store.count(Website), store.count(Key)) == (1, 1)


def test_a_purge_ends_what_could_be_restored(store: RegistryStore) -> None:
    _, website, *_ = furnished(store)
    store.delete(Website, website.id)
    deletion = store.get(Deletion, website.id)

    assert store.begin_purge(deletion)

    (purged,) = store.changes(1, record_id=website.id)
    assert (purged.action, purged.kind) == (Action.PURGE, "website")
    with pytest.raises(RecordConflict, match="the rows of this website are purged"):
        store.restore_deleted(Website, website.id)
    assert store.get(Deletion, website.id).records == {}


def test_a_restored_website_is_not_purged(store: RegistryStore) -> None:
    _, website, *_ = furnished(store)
    store.delete(Website, website.id)
    deletion = store.get(Deletion, website.id)
    store.restore_deleted(Website, website.id)

    assert not store.begin_purge(deletion)
    assert store.get(Website, website.id) == website


def test_an_id_is_free_once_its_rows_are_purged(store: RegistryStore) -> None:
    owner, website, *_ = furnished(store)
    store.delete(Organization, owner.id)
    again = validation.new_organization("Acme", "free", NOW, record_id=owner.id)
    with pytest.raises(RecordConflict, match=f"a deleted organization: restore '{owner.id}'"):
        store.create(again)

    store.update_progress(Deletion, owner.id, NOW, purged_at=NOW)
    other = store.create(validation.new_organization("Globex", "free", NOW))
    store.create(validation.new_website(other.id, "a.example", NOW, record_id=website.id))
    store.create(again)

    assert (store.count(Organization), store.count(Website)) == (2, 1)


def test_a_backup_has_deleted_records_too(
    sqlite_url: str, backups: Backups, store: RegistryStore
) -> None:
    _, website, _, text = furnished(store)
    store.delete(Website, website.id)
    write_backup(store, backups, NOW)
    contents = read_backup(backups.paths()[0]).contents

    restore(sqlite_url, contents, 1_000, NOW)
    restored = RegistryStore(sqlite_url)
    restored.restore_deleted(Website, website.id)

    assert Snapshot.read(restored).find_key(text, NOW) is not None
    restored.close()


def test_a_registry_that_has_people_is_replaced_by_a_backup(
    each_url: str, backups: Backups, store: RegistryStore
) -> None:
    owner, *_ = furnished(store)
    anna = a_person(store, owner.id)
    write_backup(store, backups, NOW)
    contents = read_backup(backups.paths()[0]).contents
    a_person(store, owner.id, "eve")

    restore(each_url, contents, 1_000, NOW)
    restored = RegistryStore(each_url)

    assert restored.list(Account) == [anna]
    assert [member.account_id for member in restored.list(Member)] == [anna.id]
    restored.close()


def test_an_organization_comes_back_without_a_person_whose_account_ended(
    store: RegistryStore,
) -> None:
    owner, *_ = furnished(store)
    anna = a_person(store, owner.id)
    a_person(store, owner.id, "bob")
    store.delete(Organization, owner.id)
    store.delete(Account, anna.id)  # she was removed from another organization, her last one

    store.restore_deleted(Organization, owner.id)

    assert [member.account_id for member in store.list(Member)] == ["bob"]


def test_a_session_from_before_a_restore_ends_with_the_password(
    each_url: str, store: RegistryStore
) -> None:
    owner, *_ = furnished(store)
    anna = a_person(store, owner.id)
    session = BrowserSession("s1", anna.id, "password", "Firefox", "a", NOW, NOW, NOW + 9)
    store.sign_ins().begin_session(session)
    secret = store.sign_ins().read(NOW).secret

    restore(each_url, store.read_contents(), 1_000, NOW)
    restored = RegistryStore(each_url)
    restored.sign_ins().end_sessions(anna.id)

    state = restored.sign_ins().read(NOW)
    assert state.secret != secret or state.ended == {"s1"}  # no other one is valid either
    restored.close()
