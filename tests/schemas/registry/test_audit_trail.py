"""The audit trail says who changed what, from which value to which, without secrets."""

from collections.abc import Iterator

import pytest

from schemas.registry import (
    Goal,
    Key,
    Link,
    Organization,
    RegistryStore,
    Website,
    validation,
)
from schemas.registry.audit_trail import MAX_VALUE_LENGTH
from schemas.registry.records import Action, Change
from tests.schemas.registry.filled_registry import NOW, furnished


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
def store(url: str) -> Iterator[RegistryStore]:
    store = RegistryStore(url, "cli:ann", clock=lambda: NOW)
    yield store
    store.close()


@pytest.fixture
def owner(store: RegistryStore) -> Organization:
    return store.create(validation.new_organization("Acme", "free", NOW))


def test_an_entry_has_actor_record_fields_and_values(
    store: RegistryStore, owner: Organization
) -> None:
    by_key = store.with_actor("key:abc")
    link = validation.new_link(owner.id, "A", "https://a.example/", NOW, slug="spring")
    by_key.create(link)
    by_key.update(Link, link.id, NOW, target_url="https://b.example/", name="A")
    store.delete(Link, link.id)

    values = {"name": "A", "slug": "spring", "target_url": "https://a.example/"}
    new = {"target_url": "https://b.example/"}

    def change(number: int, actor: str, action: Action, **more: object) -> Change:
        named = {"kind": "link", "record_id": link.id, "organization_id": owner.id}
        entry = {"number": number, "at": NOW, "actor": actor, "action": action, **named, **more}
        return Change(**entry)  # type: ignore[arg-type]

    assert list(store.changes(3)) == [
        change(4, "cli:ann", Action.DELETE, before=values | new),
        change(
            3,
            "key:abc",
            Action.UPDATE,
            fields=("target_url",),
            before={"target_url": "https://a.example/"},
            after=new,
        ),
        change(2, "key:abc", Action.CREATE, after=values),
    ]


def test_entries_are_those_of_an_organization_a_website_or_a_record(store: RegistryStore) -> None:
    owner, website, key, _ = furnished(store)
    blog = store.create(validation.new_website(owner.id, "blog.example", NOW))
    store.create(validation.new_organization("Another", "free", NOW))

    kinds = [change.kind for change in store.changes(20, owner.id)]
    of_website = [change.kind for change in store.changes(20, owner.id, website_id=website.id)]
    (of_key,) = store.changes(20, record_id=key.id)
    older = store.changes(2, owner.id, before=4)

    assert kinds[0] == "website"
    assert kinds[-1] == "organization"
    assert set(of_website) == {
        "website",
        "key",
        "import",
        "goal",
        "segment",
        "annotation",
        "money property",
        "share",
        "funnel",
        "alias",
        "exploration",
        "path group",
        "shield",
    }
    assert (of_key.kind, of_key.website_id) == ("key", website.id)
    assert [change.number for change in older] == [3, 2]
    assert store.changes(20, website_id=blog.id)[0].after == {
        "name": "blog.example",
        "domain": "blog.example",
        "timezone": "UTC",
    }


def test_no_entry_has_a_secret(store: RegistryStore) -> None:
    _, _, key, text = furnished(store)
    store.update(Key, key.id, NOW, secret_hash="f" * 64)
    store.delete(Key, key.id)

    created, updated, deleted = reversed(store.changes(9, record_id=key.id))

    assert created.after == {
        "website_id": key.website_id,
        "name": "Server",
        "scopes": ["admin"],
    }
    assert (updated.fields, updated.before, updated.after) == (("secret_hash",), {}, {})
    assert deleted.before == created.after
    secret = text.rpartition("_")[2]
    shown = repr([created, updated, deleted])
    assert not any(secret_text in shown for secret_text in (secret, key.secret_hash, "f" * 64))


def test_a_long_value_is_cut(store: RegistryStore, owner: Organization) -> None:
    website = store.create(validation.new_website(owner.id, "shop.example", NOW))
    many = [{"field": "path", "op": "eq", "value": f"/{number}"} for number in range(100)]
    goal = Goal(
        id="goal_a",
        organization_id=owner.id,
        website_id=website.id,
        name="Buy",
        event="e" * 255,
        filters=tuple(many),
        created_at=NOW,
        updated_at=NOW,
    )
    store.create(goal)

    (change,) = store.changes(1)

    assert change.after is not None
    assert change.after["event"] == "e" * MAX_VALUE_LENGTH + "…"
    assert change.after["filters"].startswith('[{"field":"path"')
    assert len(change.after["filters"]) == MAX_VALUE_LENGTH + 1


def test_a_deleted_organization_leaves_the_values_of_its_websites(store: RegistryStore) -> None:
    owner, website, *_ = furnished(store)

    store.delete(Organization, owner.id)

    last, before = store.changes(2)
    assert (last.kind, last.before) == (
        "organization",
        {"name": "Acme", "plan": "pro", "limits": {"query": 500}},
    )
    assert (before.kind, before.record_id, before.action) == ("website", website.id, Action.DELETE)
    assert before.before == {
        "name": "shop.example",
        "domain": "shop.example",
        "timezone": "Europe/Berlin",
    }
    assert store.list(Website) == []
