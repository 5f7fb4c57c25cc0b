"""Which connection gives way when a server is full: of who has most, the one that waits longest."""

import pytest

from schemas.http.eviction import LOOKS, MOST_LOOKS, Groups


class Open:
    """A connection in one state."""

    def __init__(self, since: float, answered: bool = False) -> None:
        self.since = since
        self.answered = answered

    def look(self, now: float, crowded: bool) -> None: ...

    def answering(self) -> bool:
        return self.answered

    def give_way(self) -> None: ...

    def end(self) -> None: ...


@pytest.fixture
def groups() -> Groups:
    return Groups()


def held(groups: Groups, network: str, *connections: Open) -> tuple[Open, ...]:
    for connection in connections:
        groups.add(connection, network)
    return connections


def test_the_longest_unfinished_of_the_largest_network_gives_way(groups: Groups) -> None:
    (first,) = held(groups, "a", Open(1.0))
    _, oldest, _ = held(groups, "b", Open(9.0), Open(5.0), Open(7.0))

    assert groups.candidate() is oldest

    groups.remove(oldest, "b")
    held(groups, "a", Open(8.0), Open(2.0))
    assert groups.candidate() is first


def test_nobody_gives_way_while_being_answered(groups: Groups) -> None:
    held(groups, "a", *(Open(1.0, answered=True) for _ in range(3)))
    assert groups.candidate() is None

    (waiting,) = held(groups, "b", Open(9.0))
    assert groups.candidate() is waiting


def test_connections_of_a_trusted_proxy_give_way_last(groups: Groups) -> None:
    proxied = held(groups, "", *(Open(float(n)) for n in range(5)))
    (direct,) = held(groups, "a", Open(9.0))

    assert groups.candidate() is direct
    groups.remove(direct, "a")
    assert groups.candidate() is proxied[0]


def test_one_newcomer_looks_at_so_many_and_the_next_one_at_others(groups: Groups) -> None:
    held(groups, "a", *(Open(1.0, answered=True) for _ in range(LOOKS)))
    (waiting,) = held(groups, "a", Open(2.0))

    assert groups.candidate() is None
    assert groups.candidate() is waiting

    many = Groups()
    for network in range(2 * MOST_LOOKS):
        held(many, f"n{network}", Open(1.0, answered=True))
    assert many.candidate() is None
    assert sum(map(many.size, many._members)) == 2 * MOST_LOOKS


def test_a_network_that_has_left_takes_no_memory(groups: Groups) -> None:
    for connection in held(groups, "a", Open(1.0), Open(2.0)):
        groups.remove(connection, "a")

    assert (groups.size("a"), groups._members, groups._by_size) == (0, {}, {})
