"""Updated copies of a map share what did not change."""

from schemas.registry.persistent_map import PersistentMap


def test_a_changed_copy_leaves_the_map_before_it_as_it_was() -> None:
    before = PersistentMap((f"k{n}", n) for n in range(1000))

    after = before.updated(["k1", "never there"], {"k2": -2, "new": 7})

    assert (len(before), before["k1"], before["k2"], before.get("new")) == (1000, 1, 2, None)
    assert (len(after), "k1" in after, after["k2"], after["new"]) == (1000, False, -2, 7)
    assert sorted(before) == sorted(f"k{n}" for n in range(1000))
    shared = sum(a is b for a, b in zip(before._shards, after._shards, strict=True))
    assert shared >= 253


def test_a_key_that_is_removed_and_added_at_once_exists() -> None:
    assert dict(PersistentMap([("slug", 1)]).updated(["slug"], {"slug": 2})) == {"slug": 2}
