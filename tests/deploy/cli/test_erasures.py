"""`tidemark erase` and `tidemark erasures` as they are typed."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from deploy.cli import main
from schemas.registry import Erasure, Organization, RegistryStore, Selector, Website
from schemas.runtime.settings import Settings
from tests.registries import make_registry

STAMPS: dict[str, Any] = {"created_at": 1_795_262_400_000, "updated_at": 1_795_262_400_000}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RegistryStore:
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))
    url = Settings(data_dir=str(tmp_path)).registry_url
    make_registry(url)
    store = RegistryStore(url)
    store.create(Organization(id="o1", name="Acme", **STAMPS))
    store.create(Website(id="w1", organization_id="o1", domain="a.example", **STAMPS))
    return store


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_an_erasure_waits_for_the_keeper_and_shows_no_value(
    store: RegistryStore, capfd: pytest.CaptureFixture[str]
) -> None:
    ids = ("--visitor", "forget-me", "--visitor", "me-too")

    assert run("erase", "--website", "w1", *ids, "--yes", "--json") == 0

    made, said = capfd.readouterr()
    [record] = store.list(Erasure)
    assert (record.selector, record.website_id) == (Selector.VISITOR, "w1")
    assert record.erased_values == ("visitor:forget-me", "visitor:me-too")
    assert "the keeper goes on after the next start" in said
    assert msgspec.json.decode(made)["state"] == "pending"
    for command in (("list",), ("show", record.id)):
        assert run("erasures", *command, "--json") == 0
        made += capfd.readouterr().out
    assert made.count(record.id) == 3
    assert "forget-me" not in made
    assert record.value_hashes[0] not in made


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--website", "w1"), "give one of --visitor, --profile, --session and --property"),
        (("--visitor", "a"), "give one of --website, --link and --organization"),
        (("--website", "w1", "--visitor", "a", "--profile", "b"), "give one of --visitor"),
        (("--website", "w1", "--property", "email"), "--property email: write NAME=VALUE"),
        (("--website", "w2", "--visitor", "a"), "no website 'w2'"),
        (("--link", "l2", "--visitor", "a"), "no link 'l2'"),
    ],
)
def test_what_is_missing_is_named(
    store: RegistryStore,
    capfd: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    error: str,
) -> None:
    assert run("erase", *arguments) == 2

    assert error in capfd.readouterr().err
    assert store.list(Erasure) == []
