"""Which rows of rollups are kept: by their session, or by key where a session is kept in rollup."""

import numpy as np
import pytest

from query.prepared.rollup_view import RollupView
from query.prepared.selection import SelectedIds, SelectedKeys
from query.prepared.shared_ids import WITHOUT
from tests.query.prepared.rollups import join, part_of

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


def paths(joined: RollupView) -> list[str | None]:
    numbers, texts = joined.text_numbers("pages", "of_path")
    return [texts[i] for i in numbers.tolist()]


def flags(*kept: bool) -> np.ndarray:
    """By number: rows without a session, session 11, session 12."""
    return np.array(kept, np.bool_)


def keys_of(joined: RollupView, *wanted: str) -> np.ndarray:
    names = ("quarter", "visitor", "session_key", "place")
    keys = joined.link_keys.of(*joined.columns("pages", *names).values())
    return np.sort(keys[[path in wanted for path in paths(joined)]])


@pytest.mark.parametrize("stored", [1, 2])
def test_whole_sessions(stored: int) -> None:
    joined = join([STORED, REST], 10, 20, stored=stored)
    kept = joined.of_sessions(
        SelectedIds(flags(False, False, True)), SelectedIds(flags(False, True, False))
    )

    assert paths(kept) == (["/two", "/two", "/r1"] if stored == 1 else ["/two", "/two", "/r2"])
    assert kept.selected_flags("pages").sum() == len(paths(kept))
    assert joined.selected_flags("pages").all()


def test_rows_of_a_session_in_part_and_without_a_session() -> None:
    joined = join([STORED, REST], 10, 20, stored=1)
    by_key = flags(True, True, False)
    assert not by_key[2]
    assert by_key[WITHOUT]
    keys = keys_of(joined, "/other", "/nobody")
    owners = SelectedIds(flags(False, False, True), SelectedKeys(by_key, joined.link_keys, keys))

    assert paths(joined.of_sessions(owners, owners)) == ["/other", "/two", "/two", "/nobody", "/r2"]


def test_the_same_place_of_another_part_has_another_key() -> None:
    joined = join([STORED, REST], 10, 20, stored=1)
    owners = SelectedIds(
        flags(False, False, False),
        SelectedKeys(flags(False, True, False), joined.link_keys, keys_of(joined, "/r1")),
    )

    assert paths(joined.of_sessions(owners, owners)) == ["/r1"]


def test_no_key_is_kept_where_there_are_none() -> None:
    joined = join([STORED], 10, 20)
    nothing = SelectedKeys(flags(True, True, True), joined.link_keys, np.empty(0, np.int64))
    owners = SelectedIds(flags(False, False, False), nothing)

    assert paths(joined.of_sessions(owners, owners)) == []
