"""A registry with a record of each kind, and the ways in which its file may be lost."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from schemas.registry import (
    Alias,
    Annotation,
    Exploration,
    Funnel,
    Goal,
    Key,
    MoneyProperty,
    Organization,
    PathGroup,
    RegistryStore,
    SavedRecord,
    Segment,
    Share,
    Shield,
    Website,
    validation,
)

NOW = 1_795_248_000_000


def furnished(store: RegistryStore) -> tuple[Organization, Website, Key, str]:
    owner = store.create(validation.new_organization("Acme", "pro", NOW, {"query": 500}))
    website = store.create(validation.new_website(owner.id, "shop.example", NOW, "Europe/Berlin"))
    key, text = validation.new_key(owner.id, ["admin"], NOW, website.id, "Server")
    store.create(key)
    store.create(validation.new_link(owner.id, "A", "https://a.example/", NOW, slug="spring"))
    store.create(validation.new_import(website, "old.csv", NOW))
    for record in saved_records(website):
        store.create(record)
    return owner, website, key, text


def saved_records(website: Website, suffix: str = "a") -> Sequence[SavedRecord]:
    """A saved record of each class."""
    common: dict[str, Any] = {
        "organization_id": website.organization_id,
        "website_id": website.id,
        "created_at": NOW,
        "updated_at": NOW,
    }
    only = ({"field": "country", "op": "in", "value": ["DE", "AT"]},)
    return (
        Goal(id=f"goal_{suffix}", name="Buy", event="purchase", filters=only, **common),
        Segment(id=f"seg_{suffix}", name="German", filters=only, **common),
        Annotation(id=f"note_{suffix}", start="2026-11-20", text="Campaign", **common),
        MoneyProperty(
            id=f"money_{suffix}",
            name="Revenue",
            event="purchase",
            property="properties.total",
            currency="EUR",
            **common,
        ),
        Share(
            id=f"shr_{suffix}",
            name="Agency",
            filters=only,
            password="scrypt$00$00",
            frame_origins=("https://agency.example",),
            secret_hash="0" * 64,
            **common,
        ),
        Funnel(
            id=f"fun_{suffix}", name="Buy", steps=({"path": "/"}, {"event": "purchase"}), **common
        ),
        Alias(id=f"alias_{suffix}", product="plausible", name=f"{suffix}.example", **common),
        Exploration(
            id=f"exp_{suffix}",
            name="Visitors",
            metrics_query={"metrics": ["visitors"]},
            created_by="Anna",
            **common,
        ),
        PathGroup(id=f"pgrp_{suffix}", name="Blog", paths=("/blog", "/blog/*"), **common),
        Shield(id=f"shld_{suffix}", name="Office", kind="country", value="DE", **common),
    )


def removed(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def zeroed(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))


def replaced_by_another_file(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"no database\n" * 400)
    other.replace(path)


LOSSES: tuple[Callable[[Path], None], ...] = (removed, emptied, zeroed, replaced_by_another_file)
