"""A bucket is a set of ids, in any order of insertion, in memory or spilled."""

from pathlib import Path

import numpy as np
import pytest

from stream.state.bloom_filter import BloomFilter, HashProbe, Ids, Mask
from stream.state.id_index import IdBucket, IdIndex, MemoryBudget, distinct

CHANCE = np.random.default_rng(11)


def some(count: int) -> Ids:
    return CHANCE.integers(0, 2**63 - 1, count, dtype=np.int64).view(np.uint64)


def held(bucket: IdBucket, ids: Ids) -> Mask:
    actual = np.zeros(len(ids), np.bool_)
    bucket.find(HashProbe(ids), actual)
    return actual


@pytest.mark.parametrize("spills", [False, True])
def test_a_bucket_holds_the_ids_that_were_added_and_no_others(tmp_path: Path, spills: bool) -> None:
    bucket = IdBucket()
    added = [some(count) for count in (1, 700, 3, 5000, 40, 40, 9000, 2)]
    for number, ids in enumerate(added):
        bucket.add(ids)
        assert held(bucket, ids).all()
        if spills and number % 3 == 1:
            bucket.spill(tmp_path)

    assert held(bucket, np.concatenate(added)).all()
    assert not held(bucket, some(20_000)).any()
    assert len(bucket) == sum(map(len, added))
    assert list(tmp_path.iterdir()) == []


def test_a_bloom_filter_has_few_false_positives() -> None:
    sieve = BloomFilter(100_000)
    ids = some(100_000)
    sieve.add(ids)

    assert len(sieve.candidates(HashProbe(ids))) == 100_000
    assert len(sieve.candidates(HashProbe(some(100_000)))) < 4_000
    assert sieve.nbytes <= 2 * 100_000


def test_the_oldest_buckets_of_an_owner_are_spilled_first(tmp_path: Path) -> None:
    seen, other = IdIndex(), IdIndex()
    for number in (5, 6, 7):
        seen.add(some(10_000), np.full(10_000, number))
    other.add(some(10_000), np.full(10_000, 1))
    memory_budget = MemoryBudget(tmp_path / "cache", 200_000)
    memory_budget.enforce("other", [other])

    memory_budget.enforce("events", [seen])

    resting = [number for number, bucket in seen.buckets.items() if bucket.spillable == 0]
    assert resting == [5, 6]
    assert memory_budget.over <= 0
    assert other.buckets[1].spillable == 80_000


def test_a_flood_of_ids_stays_within_the_memory_budget(tmp_path: Path) -> None:
    seen, memory_budget = IdIndex(), MemoryBudget(tmp_path / "cache", 50_000)
    own, flood = some(100), [some(20_000) for _ in range(10)]

    for number, ids in enumerate([own, *flood]):
        seen.add(ids, np.full(len(ids), number // 5))
        assert seen.duplicates(ids, np.full(len(ids), 3)).all()
        memory_budget.enforce("events", [seen])
        assert sum(bucket.nbytes for bucket in seen.buckets.values()) <= 50_000

    assert seen.duplicates(own, np.full(100, 3)).all()
    assert all(seen.duplicates(ids, np.full(20_000, 3)).all() for ids in flood)
    assert not seen.duplicates(some(2_000), np.full(2_000, 3)).any()


@pytest.mark.parametrize("numbers", [[7], [7, 7, 7], [3, 1, 3, 2], [0, 5_000, -9]])
def test_distinct_numbers_are_found(numbers: list[int]) -> None:
    assert distinct(np.array(numbers)) == sorted(set(numbers))
