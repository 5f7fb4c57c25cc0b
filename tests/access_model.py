"""The access model, implemented a second time for tests: which key has access to what.

Acme has the websites shop and blog and the link go; Globex has rival and away.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from schemas.registry import (
    KEY_SCOPES,
    Account,
    Alert,
    Alias,
    Annotation,
    Board,
    Channel,
    Erasure,
    ErrorStatus,
    Exploration,
    Funnel,
    Goal,
    Import,
    Key,
    Link,
    Member,
    MoneyProperty,
    Organization,
    PathGroup,
    RegistryStore,
    Replay,
    Report,
    SavedRecord,
    Segment,
    Selector,
    Share,
    Shield,
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
    "channels": (Channel, {"name": "a", "kind": "slack", "host": "hooks.example"}),
    "alerts": (Alert, {"name": "a", "condition": "nothing"}),
    "boards": (Board, {"name": "a", "tiles": ({"text": "a"},)}),
    "reports": (Report, {"name": "a"}),
    "error_statuses": (ErrorStatus, {"message": "m", "status": "ignored"}),
    "path_groups": (PathGroup, {"name": "a", "paths": ("/a",)}),
    "shields": (Shield, {"name": "a", "kind": "country", "value": "DE"}),
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
    "client": "acme", "invited": "acme", "leaver": "acme", "stranger": "globex",
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
    member: str | None = None
    """The member, of a person, who signs in with a browser."""
    website_scopes: Mapping[str, tuple[str, ...]] = {}
    """What a person may do on some websites besides."""
    is_barred: bool = False
    """Whether a person has to set up a second factor first."""

    def holds(self, *scopes: str) -> bool:
        """Whether it has one of the scopes; `admin` has all."""
        return not {"admin", *scopes}.isdisjoint(self.scopes)

    def reach(self, *scopes: str) -> frozenset[str] | None:
        """The websites on which it has one of the scopes; None: the whole organization."""
        if self.is_barred:
            return frozenset()
        if self.holds(*scopes):
            return None if self.website is None else frozenset({self.website})
        needed = {"admin", *scopes}
        return frozenset(
            name for name, held in self.website_scopes.items() if not needed.isdisjoint(held)
        )

    def reaches(self, subject: str) -> bool:
        """Whether the subject is of its organization, and of its one website if it has one."""
        return self.has_within(subject, None if self.website is None else {self.website})

    def has_within(self, subject: str, websites: Collection[str] | None) -> bool:
        """Whether the subject is of its organization, and of one of these websites."""
        if OWNER.get(subject) != self.organization:
            return False
        return websites is None or WEBSITE_OF.get(subject, subject) in websites


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
        kind, fields = OWNED[name.rpartition("_")[0]]
        if kind is Alias:  # unique among all websites
            fields = {**fields, "name": name}
        store.create(kind(id=name, **owned, **fields, **stamps))
    store.create(Key(id="key_acme", organization_id="acme", **A_KEY, **stamps))
    for member in ("client", "leaver", "stranger"):
        add_person(store, now_ms, member, OWNER[member], "viewer")
    invited: Mapping[str, Any] = {"email": "invited@shop.example", "invitation": "i", **stamps}
    store.create(Member(id="invited", organization_id="acme", role="viewer", **invited))


def add_person(
    store: RegistryStore,
    now_ms: int,
    name: str,
    organization: str,
    role: str | None,
    website_roles: Mapping[str, str] | None = None,
    **account: Any,
) -> Member:
    """A member with an account; both have the name as their id."""
    stamps: Mapping[str, Any] = {"created_at": now_ms, "updated_at": now_ms}
    email = f"{name}@shop.example"
    store.create(Account(id=name, email=email, **account, **stamps))
    roles: Mapping[str, Any] = {"role": role, "website_roles": dict(website_roles or {})}
    member = Member(
        id=name, organization_id=organization, account_id=name, email=email, **roles, **stamps
    )
    return store.create(member)


READS = ("read:data", "read:links")
ANALYSES = (*READS, "write:links", "write:records")
PEOPLE: Mapping[str, tuple[str | None, Mapping[str, str], tuple[str, ...]]] = {
    "owner": ("owner", {}, ("admin",)),
    "admin": ("admin", {}, ("admin",)),
    "analyst": ("analyst", {}, ANALYSES),
    "viewer": ("viewer", {}, READS),
    "viewer of shop": (None, {"shop": "viewer"}, ()),
    "viewer of shop and analyst of blog": (None, {"shop": "viewer", "blog": "analyst"}, ()),
    "viewer and admin of shop": ("viewer", {"shop": "admin"}, READS),
}
"""People of Acme: role, roles on websites, and what that role permits."""
ON_WEBSITES: Mapping[str, tuple[str, ...]] = {
    "admin": ("admin",), "analyst": ANALYSES, "viewer": READS
}  # fmt: skip


def people(store: RegistryStore, now_ms: int) -> Iterator[Caller]:
    """Every kind of person, and those who are none any more."""
    for number, (name, (role, website_roles, scopes)) in enumerate(PEOPLE.items()):
        member = add_person(store, now_ms, f"person{number}", "acme", role, website_roles)
        on_websites = {website: ON_WEBSITES[role] for website, role in website_roles.items()}
        yield Caller(name, "acme", scopes, member=member.id, website_scopes=on_websites)
    add_person(store, now_ms, "rival", "globex", "owner")
    yield Caller("owner of another tenant", "globex", ("admin",), member="rival")
    yield Caller("an invited person", live=False, member="invited")
    yield Caller("nobody", live=False, member="nobody")


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
