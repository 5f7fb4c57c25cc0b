"""The access model, implemented a second time for tests: which key has access to what.

Acme has the websites shop and blog and the link go; Globex has rival and away.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from schemas.registry import (
    KEY_SCOPES,
    Alias,
    Annotation,
    Erasure,
    Exploration,
    Funnel,
    Goal,
    Import,
    Key,
    Link,
    MoneyProperty,
    Organization,
    RegistryStore,
    Replay,
    SavedRecord,
    Segment,
    Selector,
    Share,
    Website,
)
from schemas.registry.validation import new_key

SAVED: Mapping[str, tuple[type[SavedRecord], Mapping[str, Any]]] = {
    "goals": (Goal, {"name": "a", "event": "e"}),
    "segments": (Segment, {"name": "a", "filters": ({"field": "path", "op": "eq", "value": "/"},)}),
    "annotations": (Annotation, {"start": "2026-11-01", "text": "a"}),
    "money": (
        MoneyProperty,
        {"name": "a", "event": "e", "property": "properties.a", "currency": "EUR"},
    ),
    "shares": (Share, {"name": "s"}),
    "funnels": (Funnel, {"name": "a", "steps": ({"path": "/"}, {"event": "e"})}),
    "aliases": (Alias, {"product": "segment"}),
    "explorations": (Exploration, {"name": "a", "metrics_query": {"metrics": ["visitors"]}}),
}
"""Saved records by their route: class and fields."""
A_KEY: Mapping[str, Any] = {"scopes": ("read:data",), "secret_hash": "0" * 64}
OWNED: Mapping[
    str, tuple[type[Import | Erasure | Replay | Key | SavedRecord], Mapping[str, Any]]
] = {
    "imp": (Import, {"name": "a.csv"}),
    "era": (Erasure, {"selector": Selector.VISITOR, "value_hashes": ("visitor:00",)}),
    "rpl": (Replay, {"days": 7}),
    "key": (Key, A_KEY),
    **SAVED,
}
"""Records of websites by the beginning of their ids."""

OWNER: Mapping[str, str] = {
    "shop": "acme", "blog": "acme", "acme": "acme", "go": "acme", "imp_shop": "acme",
    "era_shop": "acme", "era_rival": "globex", "rpl_shop": "acme", "rpl_rival": "globex",
    "key_shop": "acme", "key_acme": "acme", "key_rival": "globex",
    "rival": "globex", "globex": "globex", "away": "globex", "imp_rival": "globex",
    **{f"{kind}_shop": "acme" for kind in SAVED}, **{f"{kind}_rival": "globex" for kind in SAVED},
}  # fmt: skip
"""Subjects by their organization; what is missing does not exist."""

WEBSITE_OF: Mapping[str, str] = {
    f"{kind}_{website}": website
    for kind in ("imp", "era", "rpl", "key", *SAVED)
    for website in ("shop", "rival")
}
"""The website that an import or a saved record belongs to."""


class Caller(Struct, frozen=True):
    """Who sends a request."""

    name: str
    organization: str = ""
    scopes: tuple[str, ...] = ()
    website: str | None = None
    live: bool = True
    text: str | None = None
    """The key as it is sent; None sends none."""

    def holds(self, *scopes: str) -> bool:
        """Whether it has one of the scopes; `admin` has all."""
        return not {"admin", *scopes}.isdisjoint(self.scopes)

    def reaches(self, subject: str) -> bool:
        """Whether the subject is of its organization, and of its one website if it has one."""
        if OWNER.get(subject) != self.organization:
            return False
        return self.website in (None, WEBSITE_OF.get(subject, subject))


def populate(store: RegistryStore, now_ms: int) -> None:
    """Put both organizations and what they own into an empty registry."""
    stamps: Mapping[str, Any] = {"created_at": now_ms, "updated_at": now_ms}
    for organization in ("acme", "globex"):
        store.create(Organization(id=organization, name=organization, plan="enterprise", **stamps))
    for website, owner in (("shop", "acme"), ("blog", "acme"), ("rival", "globex")):
        domain = f"{website}.example"
        store.create(Website(id=website, organization_id=owner, domain=domain, **stamps))
    for link, owner in (("go", "acme"), ("away", "globex")):
        target = "https://target.example/"
        store.create(
            Link(id=link, organization_id=owner, name=link, target_url=target, slug=link, **stamps)
        )
    for name, website in WEBSITE_OF.items():
        owned: Mapping[str, Any] = {"organization_id": OWNER[website], "website_id": website}
        kind, fields = OWNED[name.partition("_")[0]]
        if kind is Alias:  # unique among all websites
            fields = {**fields, "name": name}
        store.create(kind(id=name, **owned, **fields, **stamps))
    store.create(Key(id="key_acme", organization_id="acme", **A_KEY, **stamps))


def callers(store: RegistryStore, now_ms: int) -> Iterator[Caller]:
    """Every kind of key, registered, and what is none."""
    for scope in KEY_SCOPES:
        yield _registered(store, now_ms, f"{scope}", "acme", (scope,))
        yield _registered(store, now_ms, f"{scope} on shop", "acme", (scope,), "shop")
    everything = tuple(scope for scope in KEY_SCOPES if scope != "admin")
    whole = _registered(store, now_ms, "all but admin", "acme", everything)
    yield whole
    yield _registered(store, now_ms, "of another tenant", "globex", tuple(KEY_SCOPES))
    yield _registered(store, now_ms, "expired", "acme", everything, ends=now_ms)
    assert whole.text is not None
    head, _, secret = whole.text.rpartition("_")
    crossed = _registered(store, now_ms, "another", "acme", everything).text or ""
    for name, text in {
        "a wrong secret": f"{head}_{secret[::-1]}",
        "another key's secret": f"{head}_{crossed.rpartition('_')[2]}",
        "an unknown id": f"tm_{'x' * 10}_{secret}",
        "no key of ours": "Bearer tm",
        "one character": "x",
    }.items():
        yield Caller(name, live=False, text=text)
    yield Caller("without a key", live=False)


def _registered(
    store: RegistryStore,
    now_ms: int,
    name: str,
    organization: str,
    scopes: tuple[str, ...],
    website: str | None = None,
    ends: int | None = None,
) -> Caller:
    key, text = new_key(organization, scopes, now_ms, website, name, ends)
    store.create(key)
    return Caller(name, organization, scopes, website, live=ends is None, text=text)


def headers_with_key(caller: Caller) -> Iterator[Mapping[str, str]]:
    """The headers of a caller, in each way a key can be sent."""
    if caller.text is None:
        yield {}
        return
    yield {"x-api-key": caller.text}
    yield {"authorization": f"Bearer {caller.text}"}
