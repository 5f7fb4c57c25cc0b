"""Keys of rows tell apart quarters, sessions, visitors without one, rollups and places."""

import numpy as np
import pytest

from query.prepared.attribute_rank import LAST_RANK, RANK_BITS
from query.prepared.not_prepared import NotPrepared
from query.prepared.selection import LinkKeys, link_keys

FIRST = 2_000_000


def keys_of(keys: LinkKeys, rows: list[tuple[int, int, int, int]]) -> list[int]:
    """The keys of rows of quarter, visitor, session and place."""
    columns = (np.array(column, np.uint32) for column in zip(*rows, strict=True))
    made: list[int] = keys.of(*columns).tolist()
    return made


def test_what_differs_has_another_key() -> None:
    owners, rollups = 2**20, 300
    last_place = (rollups - 1) << RANK_BITS | LAST_RANK
    rows = [
        (quarter, visitor, session, place)
        for quarter in (FIRST, FIRST + 1, FIRST + 2**16 - 1)
        for visitor, session in ((0, 0), (1, 0), (owners - 1, 0), (0, 1), (0, owners - 1))
        for place in (0, 1, LAST_RANK, LAST_RANK + 1, last_place)
    ]

    made = keys_of(link_keys(FIRST, FIRST + 2**16, owners, rollups), rows)

    assert len({*made}) == len(rows)
    assert min(made) >= 0


def test_the_visitor_of_a_session_makes_no_other_key() -> None:
    keys = link_keys(FIRST, FIRST + 10, 100, 1)

    assert len({*keys_of(keys, [(FIRST, 1, 7, 0), (FIRST, 2, 7, 0)])}) == 1
    assert len({*keys_of(keys, [(FIRST, 1, 0, 0), (FIRST, 2, 0, 0)])}) == 2


def test_too_many_keys_are_refused() -> None:
    assert link_keys(0, 2**16, 2**26, 2**12)
    with pytest.raises(NotPrepared):
        link_keys(0, 2**20, 2**30, 2**9)
