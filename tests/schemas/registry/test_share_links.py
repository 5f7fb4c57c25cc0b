"""Links of shared dashboards, and passwords."""

from msgspec.structs import replace

from schemas.registry import RegistryStore, Share, Snapshot
from schemas.registry.passwords import hash_password, password_matches
from schemas.registry.share_links import find_share, with_new_link
from tests.schemas.registry.filled_registry import NOW, furnished, saved_records


def test_a_link_finds_its_share_until_it_ends(store: RegistryStore) -> None:
    _, website, *_ = furnished(store)
    [plain] = [r for r in saved_records(website, "b") if isinstance(r, Share)]
    ends = replace(plain, name="ends", expires="2026-11-21T00:00:00.000Z")
    share, path = with_new_link(ends)
    store.create(share)
    saved = Snapshot.read(store).saved
    link = path.removeprefix("/s/")
    end_ms = 1_795_219_200_000

    assert find_share(saved, link, end_ms - 1) == share
    assert find_share(saved, link, end_ms) is None
    assert find_share(saved, f"{link[:-1]}{'a' if link[-1] != 'a' else 'b'}", end_ms - 1) is None
    assert find_share(saved, "nonsense", NOW) is None


def test_a_password_matches_its_hash_only() -> None:
    hashed = hash_password("correct horse")
    assert password_matches("correct horse", hashed)
    assert not password_matches("correct horsf", hashed)
    assert hash_password("correct horse") != hashed
