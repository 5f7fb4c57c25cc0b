from query.prepared.byte_cache import ENTRY_BYTES, ByteCache


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache = ByteCache(10_000)
    cache.put("a", 1, 4000 - ENTRY_BYTES)
    cache.put("b", 2, 4000 - ENTRY_BYTES)
    assert cache.get("a") == 1

    cache.put("c", 3, 4000 - ENTRY_BYTES)

    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert cache.size == 8_000


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    cache = ByteCache(10_000)
    cache.put("a", 1, 9000 - ENTRY_BYTES)
    cache.put("a", 2, 1000 - ENTRY_BYTES)

    assert (cache.get("a"), cache.size) == (2, 1_000)


def test_what_alone_exceeds_the_limit_is_not_kept() -> None:
    cache = ByteCache(10_000)
    cache.put("a", 1, 4000 - ENTRY_BYTES)
    cache.put("b", 2, 10100 - ENTRY_BYTES)

    assert (cache.get("a"), cache.get("b"), cache.size) == (1, None, 4_000)
