"""Salts that machines share through the registry."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from schemas.registry.daily_salts import RegistrySalts
from schemas.registry.database import create_engine
from schemas.registry.store import RegistryStore


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
def salts(url: str) -> Iterator[RegistrySalts]:
    salts = RegistrySalts(url)
    yield salts
    salts.close()


def test_the_first_proposal_is_the_salt_of_the_day(salts: RegistrySalts) -> None:
    assert salts.share("2026-11-18", b"a" * 32) == b"a" * 32
    assert salts.share("2026-11-18", b"b" * 32) == b"a" * 32
    assert salts.share("2026-11-19", b"b" * 32) == b"b" * 32


def test_the_salts_of_earlier_days_are_deleted(salts: RegistrySalts, url: str) -> None:
    salts.share("2026-11-18", b"a" * 32)
    salts.share("2026-11-19", b"b" * 32)

    salts.delete_before("2026-11-19")

    engine = create_engine(url)
    with engine.connect() as connection:
        days = connection.execute(sa.text("SELECT day FROM daily_salts")).scalars().all()
    engine.dispose()
    assert days == ["2026-11-19"]


def test_a_salt_is_no_change_of_the_registry_and_in_no_backup(
    salts: RegistrySalts, url: str
) -> None:
    store = RegistryStore(url)
    before = store.read_version()
    salts.share("2026-11-18", b"a" * 32)

    assert store.read_version() == before
    assert b"a" * 32 not in repr(store.read_contents()).encode()
    assert (b"a" * 32).hex() not in repr(store.read_contents())
    store.close()


def test_a_file_is_not_shared(sqlite_url: str) -> None:
    assert RegistrySalts.on_server(sqlite_url) is None
