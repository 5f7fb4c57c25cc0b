"""An organization has a maximum of links and imports, a website of saved records."""

import pytest
from msgspec import structs

from schemas.registry import (
    SAVED_RECORDS,
    Import,
    ImportState,
    Link,
    Organization,
    RecordLimitReached,
    RegistryStore,
    record_limits,
    validation,
)
from tests.schemas.registry.filled_registry import NOW, furnished, saved_records

NEW_NAME = {"name": "another"}


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


def an_organization(store: RegistryStore, name: str = "Acme") -> Organization:
    return store.create(validation.new_organization(name, "free", NOW))


def test_an_organization_has_a_limit_of_links(
    store: RegistryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_limits, "MAX_RECORDS", {Link: 2})
    ours, theirs = an_organization(store, "Ours"), an_organization(store, "Theirs")
    a, b, c = (validation.new_link(ours.id, name, "https://a.example/", NOW) for name in "abc")
    store.create(a)
    store.create(b)
    before = store.read_version()

    with pytest.raises(RecordLimitReached, match="has 2 links, its maximum; delete one first"):
        store.create(c)
    assert (store.count(Link, organization_id=ours.id), store.read_version()) == (2, before)
    store.create(validation.new_link(theirs.id, "T", "https://t.example/", NOW))
    store.delete(Link, a.id)
    assert store.create(c) == c


def test_a_small_plan_has_a_limit_of_slugs(
    store: RegistryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_limits, "MAX_LINKS", {"free": 1, "pro": 2})
    free = an_organization(store, "Free")
    store.create(validation.new_link(free.id, "a", "https://a.example/", NOW, slug="shop"))

    with pytest.raises(RecordLimitReached, match="has 1 links, its maximum; delete one first"):
        store.create(validation.new_link(free.id, "b", "https://a.example/", NOW, slug="bank"))
    store.update(Organization, free.id, NOW, plan="pro")
    store.create(validation.new_link(free.id, "b", "https://a.example/", NOW, slug="bank"))


def test_an_undone_import_is_deleted_for_a_new_one(
    store: RegistryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_limits, "MAX_RECORDS", {Import: 3})
    website = store.create(validation.new_website(an_organization(store).id, "a.example", NOW))
    imports = [validation.new_import(website, f"{n}.csv", NOW + n) for n in range(5)]
    first, second, third, fourth, fifth = imports
    for one in imports[:3]:
        store.create(one)
    store.update(Import, first.id, NOW, state=ImportState.DONE)
    store.update(Import, third.id, NOW, state=ImportState.UNDONE)

    store.create(fourth)
    assert [one.id for one in store.list(Import)] == [first.id, second.id, fourth.id]
    with pytest.raises(RecordLimitReached, match="has 3 imports, its maximum; undo one first"):
        store.create(fifth)


def test_a_website_has_a_limit_of_each_class_of_saved_records(
    store: RegistryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, website, *_ = furnished(store)
    other = store.create(validation.new_website(owner.id, "b.example", NOW))
    monkeypatch.setattr(record_limits, "MAX_RECORDS", dict.fromkeys(SAVED_RECORDS, 1))

    for record in saved_records(website, "b"):
        plural = record.plural.replace("_", " ")
        words = f"the website has 1 {plural}, its maximum; delete one first"
        renamed = structs.replace(record, **NEW_NAME if hasattr(record, "name") else {})
        with pytest.raises(RecordLimitReached, match=words):
            store.create(renamed)
    for record in saved_records(other, "c"):
        store.create(record)
