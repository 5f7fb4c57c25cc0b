"""Audit trail entries say what their record is called, and nothing of other tenants."""

from collections.abc import Iterator

import pytest

from schemas.registry import Goal, Link, RegistryStore, Website, validation
from schemas.registry.audit_names import KINDS, NAMING_FIELDS
from schemas.registry.records import Deletion
from tests.schemas.registry.filled_registry import NOW, furnished


@pytest.fixture
def store(each_url: str) -> Iterator[RegistryStore]:
    store = RegistryStore(each_url, "cli:ann", clock=lambda: NOW)
    yield store
    store.close()


def names(store: RegistryStore, record_id: str) -> list[object]:
    """Of the entries about a record, newest first."""
    return list(store.names_of(store.changes(20, record_id=record_id)))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_record_has_a_field_that_names_it(kind: type) -> None:
    assert set(NAMING_FIELDS) & set(kind.__struct_fields__)  # type: ignore[attr-defined]


def test_every_entry_has_the_newest_name_of_its_record(store: RegistryStore) -> None:
    owner, website, key, _ = furnished(store)
    store.update(Website, website.id, NOW, name="Shop")
    entries = store.changes(20, owner.id)
    found = dict(zip([entry.kind for entry in entries], store.names_of(entries), strict=True))

    assert found["website"] == {"name": "Shop", "domain": "shop.example"}
    assert found["link"] == {"name": "A", "slug": "spring", "target_url": "https://a.example/"}
    assert found["key"] == {"name": key.name}
    assert found["annotation"] == {"text": "Campaign"}
    assert None not in found.values()


def test_a_deleted_record_keeps_its_last_name(store: RegistryStore) -> None:
    owner, website, *_ = furnished(store)
    (link,) = store.list(Link, organization_id=owner.id)
    store.update(Link, link.id, NOW, name="B")
    store.delete(Link, link.id)
    store.delete(Website, website.id)

    assert (
        names(store, link.id)
        == [{"name": "B", "slug": "spring", "target_url": "https://a.example/"}] * 3
    )
    assert names(store, "goal_a") == [{"name": "Buy"}]  # went with its website


def test_what_went_with_its_website_keeps_the_name_of_its_last_change(
    store: RegistryStore,
) -> None:
    _, website, *_ = furnished(store)
    store.update(Goal, "goal_a", NOW, name="Purchase")
    store.delete(Website, website.id)

    assert names(store, "goal_a") == [{"name": "Purchase"}] * 2


def test_an_id_that_another_organization_uses_now_is_not_named(store: RegistryStore) -> None:
    owner = store.create(validation.new_organization("Acme", "free", NOW))
    other = store.create(validation.new_organization("Globex", "free", NOW))
    for organization, domain in ((owner, "a.example"), (other, "b.example")):
        new = validation.new_website(organization.id, domain, NOW, record_id="shop")
        store.create(new)
        if organization is owner:
            store.delete(Website, "shop")
            store.update_progress(Deletion, "shop", NOW, purged_at=NOW)

    entries = store.changes(20, owner.id, record_id="shop")

    assert [entry["domain"] for entry in store.names_of(entries) if entry] == ["a.example"] * 2
