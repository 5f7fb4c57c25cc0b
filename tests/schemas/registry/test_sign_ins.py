"""What query processes share about sign-ins, on each database."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from schemas.registry import RegistryStore


@pytest.fixture
def shared(each_url: str) -> Iterator[tuple[RegistryStore, RegistryStore]]:
    """The stores of two processes."""
    stores = RegistryStore(each_url), RegistryStore(each_url)
    yield stores
    for store in stores:
        store.close()


Stores = tuple[RegistryStore, RegistryStore]


def test_the_first_process_makes_the_secret(shared: Stores) -> None:
    one, other = (store.sign_ins().read(0) for store in shared)

    assert len(one.secret) == 32
    assert one == other
    assert one.secret.hex() not in repr(one)


def test_a_token_ends_once(shared: Stores) -> None:
    one, other = (store.sign_ins() for store in shared)

    assert one.end("a", 1000, 0)
    assert not other.end("a", 1000, 0)
    assert other.read(999).ended == {"a"}
    assert other.read(1000).ended == frozenset()


def test_of_many_at_once_one_ends_a_token(shared: Stores) -> None:
    sign_ins = [store.sign_ins() for store in shared]
    with ThreadPoolExecutor(8) as threads:
        first = list(threads.map(lambda i: sign_ins[i % 2].end("a", 1000, 0), range(16)))

    assert first.count(True) == 1


def test_what_is_past_is_forgotten(shared: Stores) -> None:
    sign_ins = shared[0].sign_ins()
    sign_ins.end("a", 1000, 0)
    sign_ins.end("b", 9000, 1000)

    assert sign_ins.read(0).ended == {"b"}


def test_sign_ins_are_no_change_of_the_registry_and_in_no_backup(shared: Stores) -> None:
    store = shared[0]
    before = store.read_version()
    secret = store.sign_ins().read(0).secret
    store.sign_ins().end("a", 1000, 0)

    assert store.read_version() == before
    assert secret.hex() not in repr(store.read_contents())
