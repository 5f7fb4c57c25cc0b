"""Which rows of parts are kept: by their session, or by key where a session is kept in part."""

import numpy as np
import pytest

from query.prepared.rollup_view import JoinedParts
from query.prepared.selection import ByKey, KeptOwners
from query.prepared.shared_ids import WITHOUT
from tests.query.prepared.parts import join, part_of

NOBODY = -1
STORED = part_of(
    "pages",
    quarter=[10, 10, 10, 11, 11],
    visitor=[1, 1, 2, 2, 8],
    session_key=[11, 11, 12, 12, NOBODY],
    place=[0, 1, 0, 0, 0],
    of_path=["/one", "/other", "/two", "/two", "/nobody"],
)
REST = part_of(
    "pages",
    quarter=[10, 11],
    visitor=[1, 2],
    session_key=[11, 12],
    place=[0, 0],
    of_path=["/r1", "/r2"],
)


def paths(joined: JoinedParts) -> list[str | None]:
    numbers, texts = joined.text_numbers("pages", "of_path")
    return [texts[i] for i in numbers.tolist()]


def flags(*kept: bool) -> np.ndarray:
    """By number: rows without a session, session 11, session 12."""
    return np.array(kept, np.bool_)


def keys_of(joined: JoinedParts, *wanted: str) -> np.ndarray:
    names = ("quarter", "visitor", "session_key", "place")
    keys = joined.row_keys.of(*joined.columns("pages", *names).values())
    return np.sort(keys[[path in wanted for path in paths(joined)]])


@pytest.mark.parametrize("stored", [1, 2])
def test_whole_sessions(stored: int) -> None:
    joined = join([STORED, REST], 10, 20, stored=stored)
    kept = joined.of_sessions(
        KeptOwners(flags(False, False, True)), KeptOwners(flags(False, True, False))
    )

    assert paths(kept) == (["/two", "/two", "/r1"] if stored == 1 else ["/two", "/two", "/r2"])
    assert kept.kept_flags("pages").sum() == len(paths(kept))
    assert joined.kept_flags("pages").all()


def test_rows_of_a_session_in_part_and_without_a_session() -> None:
    joined = join([STORED, REST], 10, 20, stored=1)
    by_key = flags(True, True, False)
    assert not by_key[2]
    assert by_key[WITHOUT]
    keys = keys_of(joined, "/other", "/nobody")
    owners = KeptOwners(flags(False, False, True), ByKey(by_key, joined.row_keys, keys))

    assert paths(joined.of_sessions(owners, owners)) == ["/other", "/two", "/two", "/nobody", "/r2"]


def test_the_same_place_of_another_part_has_another_key() -> None:
    joined = join([STORED, REST], 10, 20, stored=1)
    owners = KeptOwners(
        flags(False, False, False),
        ByKey(flags(False, True, False), joined.row_keys, keys_of(joined, "/r1")),
    )

    assert paths(joined.of_sessions(owners, owners)) == ["/r1"]


def test_no_key_is_kept_where_there_are_none() -> None:
    joined = join([STORED], 10, 20)
    nothing = ByKey(flags(True, True, True), joined.row_keys, np.empty(0, np.int64))
    owners = KeptOwners(flags(False, False, False), nothing)

    assert paths(joined.of_sessions(owners, owners)) == []
