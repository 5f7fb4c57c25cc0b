"""One keeper at a time, over all machines."""

from collections.abc import Iterator

import pytest

from schemas.registry import DatabaseError
from schemas.registry.keeper_lease import KeeperLease
from tests.installation import eventually
from tests.postgresql import PostgreSQL


@pytest.fixture
def server() -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        yield server


def test_the_second_keeper_waits_for_the_first(server: PostgreSQL) -> None:
    url = server.new_database()
    first, second = KeeperLease(url), KeeperLease(url)
    assert first.acquire()
    assert not second.acquire()
    first.check()

    first.release()
    eventually(second.acquire, 60)
    second.release()


def test_a_keeper_that_loses_the_server_notices(server: PostgreSQL) -> None:
    lease = KeeperLease(server.new_database())
    assert lease.acquire()

    server.stop()
    with pytest.raises(DatabaseError):
        lease.check()
    with pytest.raises(DatabaseError):
        lease.acquire()

    server.start()
    eventually(lease.acquire, 60)
    lease.check()
    lease.release()


def test_a_file_has_no_lease(sqlite_url: str) -> None:
    assert KeeperLease.on_server(sqlite_url) is None
