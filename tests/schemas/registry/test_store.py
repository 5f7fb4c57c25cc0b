"""Records are stored, validated and followed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from schemas.errors import Malformed
from schemas.registry import (
    Key,
    Link,
    Organization,
    RecordConflict,
    RecordNotFound,
    RegistryFollower,
    RegistryStore,
    Website,
    validation,
)
from schemas.registry.database import METADATA, create_engine
from schemas.registry.migrate import configuration, migrate, newest_schema_revision, schema_revision
from schemas.registry.record_mapping import read_all

NOW = 1_795_248_000_000


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
def store(url: str) -> Iterator[RegistryStore]:
    store = RegistryStore(url)
    yield store
    store.close()


def an_organization(store: RegistryStore, name: str = "Acme") -> Organization:
    return store.create(validation.new_organization(name, "free", NOW))


def test_the_migrations_make_exactly_the_declared_tables(url: str) -> None:
    engine = create_engine(url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


def test_the_newest_file_is_the_newest_migration(url: str) -> None:
    """Whether there is something to do is seen without Alembic."""
    head = ScriptDirectory.from_config(configuration()).get_current_head()

    assert newest_schema_revision() == head == schema_revision(url)


def test_migrating_twice_changes_nothing(url: str, store: RegistryStore) -> None:
    organization = an_organization(store)
    migrate(url)

    assert store.list(Organization) == [organization]


def test_a_record_is_read_as_it_was_created(store: RegistryStore) -> None:
    organization = an_organization(store)
    website = store.create(
        validation.new_website(organization.id, "Shop.Example", NOW, "Asia/Kolkata")
    )
    key, _ = validation.new_key(organization.id, ["read:data", "read:links"], NOW, website.id)
    store.create(key)

    assert store.get(Website, website.id) == website
    assert website.domain == "shop.example"
    assert store.get(Key, key.id) == key


def test_records_are_listed_by_their_owner(store: RegistryStore) -> None:
    ours, theirs = an_organization(store, "Ours"), an_organization(store, "Theirs")
    a = store.create(validation.new_link(ours.id, "A", "https://a.example/", NOW, external_id="x"))
    b = store.create(validation.new_link(ours.id, "B", "https://b.example/", NOW + 1))
    store.create(validation.new_link(theirs.id, "C", "https://c.example/", NOW, external_id="x"))

    assert store.list(Link, organization_id=ours.id) == [a, b]
    assert store.list(Link, organization_id=ours.id, external_id="x") == [a]
    assert store.list(Link, organization_id=ours.id, limit=1, offset=1) == [b]
    assert store.count(Link, organization_id=ours.id) == 2


def test_a_taken_slug_and_an_unknown_owner_are_conflicts(store: RegistryStore) -> None:
    organization = an_organization(store)
    store.create(
        validation.new_link(organization.id, "A", "https://a.example/", NOW, slug="spring")
    )

    with pytest.raises(RecordConflict, match="slug is already taken"):
        store.create(
            validation.new_link(organization.id, "B", "https://b.example", NOW, slug="spring")
        )
    with pytest.raises(RecordConflict, match="does not exist"):
        store.create(validation.new_website("org_none", "a.example", NOW))


def test_an_update_changes_only_what_it_names(store: RegistryStore) -> None:
    organization = an_organization(store)
    link = store.create(validation.new_link(organization.id, "A", "https://a.example/", NOW))

    changed = store.update(Link, link.id, NOW + 5, name="B")

    assert (changed.name, changed.target_url, changed.updated_at) == ("B", link.target_url, NOW + 5)


def test_a_record_that_does_not_exist_is_not_found(store: RegistryStore) -> None:
    attempts: tuple[Callable[[], object], ...] = (
        lambda: store.get(Link, "x"),
        lambda: store.update(Link, "x", NOW, name="y"),
        lambda: store.delete(Link, "x"),
    )
    for attempt in attempts:
        with pytest.raises(RecordNotFound, match="no link 'x'"):
            attempt()


def test_a_deleted_organization_takes_everything_with_it(store: RegistryStore) -> None:
    organization = an_organization(store)
    website = store.create(validation.new_website(organization.id, "a.example", NOW))
    store.create(validation.new_key(organization.id, ["admin"], NOW, website.id)[0])

    store.delete(Organization, organization.id)

    assert (store.list(Website), store.list(Key)) == ([], [])


def test_a_follower_sees_every_write(store: RegistryStore) -> None:
    follower = RegistryFollower(store)
    organization = an_organization(store)
    key, text = validation.new_key(organization.id, ["admin"], NOW)
    store.create(key)

    snapshot = follower.refresh()

    assert snapshot.organizations[organization.id] == organization
    assert snapshot.find_key(text, NOW) == key
    assert follower.refresh() is snapshot


def test_only_a_complete_active_key_is_accepted(store: RegistryStore) -> None:
    organization = an_organization(store)
    key, text = validation.new_key(organization.id, ["admin"], NOW, expires_at=NOW + 10)
    store.create(key)
    snapshot = RegistryFollower(store).snapshot

    assert snapshot.find_key(text, NOW + 9) == key
    assert snapshot.find_key(text, NOW + 10) is None
    assert snapshot.find_key(text[:-1] + ("2" if text[-1] != "2" else "3"), NOW) is None
    assert snapshot.find_key(f"tm_{key.id}_", NOW) is None
    assert snapshot.find_key("nonsense", NOW) is None

    store.update(Key, key.id, NOW, revoked_at=NOW)
    assert RegistryFollower(store).snapshot.find_key(text, NOW) is None


def test_the_secret_is_not_stored(sqlite_url: str, path: Path) -> None:
    store = RegistryStore(sqlite_url)
    organization = an_organization(store)
    key, text = validation.new_key(organization.id, ["admin"], NOW)
    store.create(key)
    store.close()

    stored = b"".join(p.read_bytes() for p in path.parent.iterdir())

    assert key.id.encode() in stored
    assert text.rpartition("_")[2].encode() not in stored


@pytest.mark.parametrize(
    "target",
    [
        "ftp://a.example/",
        "javascript:alert(1)",
        "https://user@a.example/",
        "https://a.example/\r\nSet-Cookie: x",
        "https:///nowhere",
        "//a.example/",
        "https://a.example:99999/",
        "https://a.example/" + "x" * 2048,
    ],
)
def test_a_target_that_is_not_a_safe_url_is_rejected(target: str) -> None:
    with pytest.raises(Malformed, match="'targetUrl' must be an http or https URL"):
        validation.new_link("org", "A", target, NOW)


def test_every_other_field_is_checked_by_name() -> None:
    attempts: dict[str, Callable[[], object]] = {
        "name": lambda: validation.new_organization(" ", "free", NOW),
        "plan": lambda: validation.new_organization("A", "gold", NOW),
        "limits": lambda: validation.new_organization("A", "free", NOW, {"bananas": 1}),
        "domain": lambda: validation.new_website("o", "a.example/shop", NOW),
        "timezone": lambda: validation.new_website("o", "a.example", NOW, "Mars/Olympus"),
        "slug": lambda: validation.new_link("o", "A", "https://a.example", NOW, slug="a/b"),
        "scopes": lambda: validation.new_key("o", ["read:everything"], NOW),
    }
    for field, attempt in attempts.items():
        with pytest.raises(Malformed, match=f"'{field}'"):
            attempt()


def test_contents_are_of_one_database_snapshot(
    url: str, store: RegistryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = RegistryStore(url)
    organization = an_organization(store)
    whole = read_all

    def interrupted(connection: Any, kind: Any) -> Any:
        if kind is Website:  # somebody writes between two reads
            late = other.create(validation.new_organization("Late", "free", NOW))
            other.create(validation.new_website(late.id, "late.example", NOW))
        return whole(connection, kind)

    monkeypatch.setattr("schemas.registry.contents.read_all", interrupted)
    contents = store.read_contents()
    other.close()

    assert (contents.organizations, contents.websites) == ([organization], [])


@pytest.mark.parametrize(
    "domain", ["shop.example", "a-b.example:8080", "localhost", "xn--bcher-kva.example", "10.0.0.1"]
)
def test_a_host_name_is_a_domain(domain: str) -> None:
    assert validation.validate_domain(domain) == domain


def test_a_copied_address_is_its_host() -> None:
    addresses = {
        "https://www.shop3.example/": "www.shop3.example",
        " HTTP://Shop.example:8080/de/?a=1#b ": "shop.example:8080",
        "https://shop.example?a=https://b.example": "shop.example",
        "shop.example/": "shop.example",
    }

    assert {text: validation.validate_domain(text) for text in addresses} == addresses
    for wrong in (
        "ftp://shop.example",
        "https://user@shop.example/",
        "shop.example/de",
        "https://",
    ):
        with pytest.raises(Malformed, match="'domain' is '"):
            validation.validate_domain(wrong)


@pytest.mark.parametrize("domain", ["a..b", ".shop", "shop.", "-a.b", "a-.b", "a" * 64, "a b", "*"])
def test_what_is_no_host_name_is_refused(domain: str) -> None:
    with pytest.raises(Malformed, match="'domain' is '"):
        validation.validate_domain(domain)
