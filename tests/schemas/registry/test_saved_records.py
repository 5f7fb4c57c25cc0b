"""Saved records are stored, unique by name, limited by website and deleted with it."""

import pytest
from msgspec.structs import replace

from schemas.errors import Malformed
from schemas.registry import (
    SAVED_RECORDS,
    Alias,
    Goal,
    Organization,
    RecordConflict,
    RegistryStore,
    Website,
    validation,
)
from tests.schemas.registry.filled_registry import NOW, furnished, saved_records


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


def test_a_record_of_each_class_is_read_as_it_was_created(store: RegistryStore) -> None:
    _, website, *_ = furnished(store)

    for record in saved_records(website):
        assert store.get(type(record), record.id) == record
        assert store.list(type(record), website_id=website.id) == [record]


def test_a_name_is_unique_on_a_website_and_free_on_another(store: RegistryStore) -> None:
    owner, website, *_ = furnished(store)
    second = store.create(validation.new_website(owner.id, "b.example", NOW))

    for record in saved_records(website, "b"):
        if "name" in record.__struct_fields__ and not isinstance(record, Alias):
            with pytest.raises(RecordConflict, match="this name is already taken"):
                store.create(record)
    for record in saved_records(second, "c"):
        store.create(record)
    with pytest.raises(RecordConflict, match="this id is already taken"):
        store.create(saved_records(second, "a")[2])


def test_an_alias_is_unique_among_all_websites(store: RegistryStore) -> None:
    owner, website, *_ = furnished(store)
    [alias] = store.list(Alias, website_id=website.id)
    second = store.create(validation.new_website(owner.id, "b.example", NOW))

    with pytest.raises(RecordConflict, match="this name is already taken"):
        store.create(replace(alias, id="alias_b", website_id=second.id))
    store.create(replace(alias, id="alias_b", website_id=second.id, product="umami"))


def test_the_id_of_another_record_is_no_alias(store: RegistryStore) -> None:
    owner, website, *_ = furnished(store)
    [alias] = store.list(Alias, website_id=website.id)
    store.create(validation.new_website(owner.id, "b.example", NOW, record_id="blog"))

    for name in ("blog", owner.id):
        with pytest.raises(Malformed, match=f"^'name' is '{name}', which is or looks like an id"):
            store.create(replace(alias, id="alias_b", product="umami", name=name))
        with pytest.raises(Malformed, match=r"^'name' is"):
            store.update(Alias, alias.id, NOW, name=name)
    assert store.list(Alias) == [alias]


def test_records_are_deleted_with_their_website_or_organization(store: RegistryStore) -> None:
    owner, website, *_ = furnished(store)
    store.delete(Website, website.id)
    assert [store.count(kind) for kind in SAVED_RECORDS] == [0] * len(SAVED_RECORDS)

    second = store.create(validation.new_website(owner.id, "b.example", NOW))
    for record in saved_records(second):
        store.create(record)
    store.delete(Organization, owner.id)
    assert [store.count(kind) for kind in SAVED_RECORDS] == [0] * len(SAVED_RECORDS)


def test_a_revision_starts_from_the_current_state(store: RegistryStore) -> None:
    """Two callers who read the same record change different fields of it."""
    furnished(store)
    read = store.get(Goal, "goal_a")
    store.update(Goal, "goal_a", NOW + 1, name="Purchase")

    def with_value(goal: Goal) -> Goal:
        values = {"value_property": "properties.total", "created_at": goal.created_at}
        return Goal(**{f: getattr(goal, f) for f in goal.__struct_fields__} | values)

    revised = store.revise(read, NOW + 2, with_value)

    assert (revised.name, revised.value_property) == ("Purchase", "properties.total")
    assert store.get(Goal, "goal_a") == revised
    assert revised.updated_at == NOW + 2
    assert store.changes(1)[0].fields == ("value_property",)


def test_a_failed_revision_changes_nothing(store: RegistryStore) -> None:
    furnished(store)
    before = store.read_contents()

    def fail(_goal: Goal) -> Goal:
        raise Malformed("no")

    with pytest.raises(Malformed):
        store.revise(store.get(Goal, "goal_a"), NOW + 1, fail)

    assert store.read_contents() == before
