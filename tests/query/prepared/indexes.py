"""Indexes of sets of rollups, and query services that keep them in one folder."""

from pathlib import Path

import numpy as np
from msgspec import Struct, structs

from query.prepared import index_store
from query.prepared.breakdown import GroupsIndex, index_of
from query.prepared.distinct_visitors_index import VisitorsIndex
from query.prepared.index_store import IndexCache, IndexStore, RollupSet
from query.prepared.page_views import OrderedViews, PageViewIndex
from query.prepared.result_cache import ByteCache
from query.prepared.session_attributes import SessionAttributes
from query.prepared.sessions_index import Sessions, order_durations
from query.prepared.shared_ids import number
from query.prepared.store import RollupKey, RollupStore
from query.prepared.totals_index import TotalsIndex
from query.prepared.visits_index import LongVisits, SessionValues, VisitPageIndex

KEYS = [RollupKey("shop", str(i)) for i in range(6)]
BOTH = frozenset(KEYS[:2])
LIMIT = 2**20
ROWS = 40_000


def some(kind: str = "u2") -> np.ndarray:
    return np.random.default_rng(1).integers(0, 200, ROWS).astype(kind)


def groups() -> GroupsIndex:
    texts = [None, *(f"/ü{i}" for i in range(200))]
    return index_of([(some() + 1, texts)], some("u1"), some("u4"), some() + 1000)


INDEXES = (
    number({KEYS[0]: np.array([5, 9, 70]), KEYS[1]: np.array([-1, 9])}),
    groups(),
    TotalsIndex(
        3,
        np.array([[1, 2], [3, 4]]),
        VisitorsIndex(3, 9, some("u4"), some(), np.array([[1, 2]])),
        Sessions(*[some()] * 8),
        np.array([[5], [6]]),
        np.array([[0, 1]]),
        order_durations(some("u4")),
    ),
    LongVisits(*[some("i8")] * 4),
    VisitPageIndex(groups(), *[some()] * 7),
    SessionAttributes([None, "DE", "ü"], *[some("u1")] * 6),
    SessionValues(some("u1"), [None, "mobile", "ü"]),
    PageViewIndex(7, some(), OrderedViews(some(), some(), some(), ["/", "/ü"]), is_complete=True),
)


def is_alike(one: object, other: object) -> bool:
    """Whether both have the same values, of the same types."""
    if isinstance(one, np.ndarray):
        assert isinstance(other, np.ndarray)
        return one.dtype == other.dtype and bool((one == other).all()) and one.shape == other.shape
    if isinstance(one, RollupKey | int | str):
        return one == other
    if isinstance(one, dict):
        assert isinstance(other, dict)
        return [*one] == [*other] and all(is_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        assert isinstance(other, list | tuple)
        return [*one] == [*other]
    assert isinstance(one, Struct)
    assert isinstance(other, Struct)
    assert type(one) is type(other)
    return all(map(is_alike, structs.astuple(one), structs.astuple(other)))


class Process:
    """A query service with these files; it counts what it makes."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.files = IndexStore(RollupStore(folder, limit))
        self.now = 0.0
        self.indexes = IndexCache(ByteCache(64 * LIMIT), self.files, lambda: self.now)
        self.made: list[object] = []

    def index(
        self,
        name: object,
        index: object = INDEXES[1],
        rollups: RollupSet = BOTH,
        seconds: float = 0,
    ) -> object:
        def make() -> object:
            self.made.append(name)
            self.now += seconds
            return index

        found = self.indexes.made(name, rollups, make)
        index_store.WRITER.submit(lambda: None).result()  # what is written is there
        return found

    def rollups(self, *numbers: int, stored: str = "012345", index: str | None = None) -> list[int]:
        wanted = frozenset(KEYS[i] for i in numbers)
        known = self.indexes.rollup_set(wanted, stored, index=index)
        return sorted(int(key.data_file) for key in known)
