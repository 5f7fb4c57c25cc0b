"""The cache of two generations: bounded, and kept warm by use."""

from stream.enrich.rules.cache import GenerationalCache


def test_a_cache_forgets_rather_than_grows() -> None:
    cache: GenerationalCache[int, int] = GenerationalCache(lambda n: n * n, size=3)

    assert [cache[n] for n in range(5)] == [0, 1, 4, 9, 16]
    assert len(cache) == 2


def test_a_cache_of_longer_texts_forgets_sooner() -> None:
    computed: list[str] = []
    cache: GenerationalCache[str, None] = GenerationalCache(computed.append, size=8)
    texts = [str(number) * 500 for number in range(5)]

    for text in (*texts, texts[0], texts[4]):
        assert cache[text] is None

    assert computed == [*texts, texts[0]]  # 1,024 letters, twice


def test_a_cache_keeps_no_long_texts_among_several() -> None:
    cache: GenerationalCache[tuple[str | None, ...], int] = GenerationalCache(len)
    usual, long = ("a" * 500, None, "b" * 500), ("a" * 500, None, "b" * 600)

    assert [cache[usual], cache[long]] == [3, 3]
    assert list(cache) == [usual]


def test_a_cache_keeps_no_long_texts() -> None:
    cache: GenerationalCache[str, int] = GenerationalCache(len)

    assert [cache["a" * 512], cache["a" * 513]] == [512, 513]
    assert list(cache) == ["a" * 512]


def test_a_cache_keeps_entries_that_are_still_used() -> None:
    computed: list[int] = []
    cache: GenerationalCache[int, None] = GenerationalCache(computed.append, size=3)

    for number in (0, 1, 2, 3, 0, 4, 5, 0, 6):
        assert cache[number] is None

    assert computed == [0, 1, 2, 3, 4, 5, 6]
