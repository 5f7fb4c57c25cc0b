from query.prepared.byte_cache import ByteCache


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache = ByteCache(100)
    cache.put("a", 1, 40)
    cache.put("b", 2, 40)
    assert cache.get("a") == 1

    cache.put("c", 3, 40)

    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert cache.size == 80


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    cache = ByteCache(100)
    cache.put("a", 1, 90)
    cache.put("a", 2, 10)

    assert (cache.get("a"), cache.size) == (2, 10)


def test_what_alone_exceeds_the_limit_is_not_kept() -> None:
    cache = ByteCache(100)
    cache.put("a", 1, 40)
    cache.put("b", 2, 101)

    assert (cache.get("a"), cache.get("b"), cache.size) == (1, None, 40)
