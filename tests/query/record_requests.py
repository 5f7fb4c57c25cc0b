"""Requests about records of every kind, for the access model."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count
from typing import Any

from msgspec import structs

from tests.access_model import SAVED
from tests.query.access_requests import ORGANIZATIONS, WEBSITES, Records, Request

ADMIN = ("admin",)
MANAGE = ("manage:websites",)
READ = ("read:data", "manage:websites")
READ_DATA = ("read:data",)
BODIES: Mapping[str, Mapping[str, Any]] = {
    "goals": {"event": "e"},
    "segments": {"filters": [{"field": "path", "op": "eq", "value": "/"}]},
    "annotations": {"start": "2026-11-01", "text": "a"},
    "money": {"event": "e", "property": "properties.a", "currency": "EUR"},
    "shares": {},
    "funnels": {"steps": [{"path": "/"}, {"event": "e"}]},
    "aliases": {"product": "segment"},
    "explorations": {"metricsQuery": {"metrics": ["visitors"]}},
    "channels": {"kind": "webhook", "address": "https://hooks.example/"},
    "alerts": {"condition": "nothing"},
    "boards": {"tiles": [{"text": "a"}]},
    "reports": {},
    "error_statuses": {"message": "m", "status": "ignored"},
    "path_groups": {"paths": ["/a/*"]},
    "shields": {"kind": "country", "value": "DE"},
}
NAMES = count()

WEBSITE = Records(
    path="/v1/websites",
    id_name="website_id",
    subjects=WEBSITES,
    removed="rival",
    reads=READ,
    writes=MANAGE,
    change={"name": "b"},
    confirm={"domain": "rival.example"},
)
KEY = Records(
    path="/v1/keys",
    id_name="key_id",
    subjects=("key_shop", "key_acme", "key_rival", "nowhere"),
    removed="key_rival",
    reads=ADMIN,
    writes=ADMIN,
    change={"name": "b"},
)
LINK = Records(
    path="/v1/links",
    id_name="link_id",
    subjects=("go", "away", "nowhere"),
    removed="away",
    reads=("read:links",),
    writes=("write:links",),
    whole=True,
    change={"name": "b"},
)
IMPORT = Records(
    path="/v1/imports",
    id_name="import_id",
    subjects=("imp_shop", "imp_rival", "nowhere"),
    removed="imp_rival",
    reads=MANAGE,
    writes=MANAGE,
    deleted=202,
)
ERASE = ("erase:visitors",)
ERASURE = Records(
    path="/v1/erasures",
    id_name="erasure_id",
    subjects=("era_shop", "era_rival", "nowhere"),
    removed="era_rival",
    reads=ERASE,
    writes=ERASE,
)
REPLAY = Records(
    path="/v1/quarantine/replays",
    id_name="replay_id",
    subjects=("rpl_shop", "rpl_rival", "nowhere"),
    removed="rpl_rival",
    reads=MANAGE,
    writes=MANAGE,
)
CHANGES = {
    "annotations": {"text": "b"},
    "aliases": {"product": "segment"},
    "error_statuses": {"status": "resolved"},
    "channels": {"address": BODIES["channels"]["address"]},
}
"""Of aliases not the name, which is unique among all websites."""
ID_NAMES = {
    "money": "money_property_id",
    "aliases": "alias_id",
    "error_statuses": "error_status_id",
}
OF_ANALYSTS = (
    "goals", "segments", "annotations", "funnels", "explorations", "alerts", "boards",
    "reports", "error_statuses", "path_groups",
)  # fmt: skip
NAMES_PEOPLE = ("channels", "alerts", "reports")
"""They have addresses, which those read who may write alerts."""
OPEN_DATA = ("shares", "channels", "alerts", "reports")
"""They let others read data, so that creating and changing one needs the right to read it."""


def _writes(kind: str) -> tuple[str, ...]:
    return ("write:records", *MANAGE) if kind in OF_ANALYSTS else MANAGE


SAVED_KINDS = {
    kind: Records(
        path=f"/v1/{kind}",
        id_name=ID_NAMES.get(kind, f"{kind[:-1]}_id"),
        subjects=(f"{kind}_shop", f"{kind}_rival", "nowhere"),
        removed=f"{kind}_rival",
        reads=_writes("alerts") if kind in NAMES_PEOPLE else READ_DATA,
        reads_also=READ_DATA if kind in NAMES_PEOPLE else (),
        writes=_writes(kind),
        also=READ_DATA if kind in OPEN_DATA else (),
        change=CHANGES.get(kind, {"name": "b"}),
    )
    for kind in SAVED
}


def record_requests() -> Iterator[Request]:
    """A request to each of these routes about every possible subject."""
    for records in (WEBSITE, KEY, LINK, IMPORT, ERASURE, REPLAY, *SAVED_KINDS.values()):
        yield from records.requests()
    yield from _organization()
    yield from _people()
    yield from _account()
    yield from _websites()
    yield from _keys()
    yield from _links()
    yield from _imports()
    yield from _erasures()
    yield from _replays()
    for kind in SAVED:
        yield from _saved_records(kind)
    yield from _notices()
    yield Request(route=("GET", "/v1/audit"), path="/v1/audit", scopes=ADMIN, several=403)
    yield Request(route=("GET", "/v1/limits"), path="/v1/limits", scopes=MANAGE)
    for website in WEBSITES:
        about: Any = {"subject": website, "query": {"website_id": website}}
        yield Request(route=("GET", "/v1/limits"), path="/v1/limits", scopes=MANAGE, **about)
        path = "/v1/quarantine"
        yield Request(route=("GET", path), path=path, scopes=READ_DATA, **about)
        path = "/v1/quarantine/refused"  # of a collector, which does not run beside these tests
        yield Request(route=("GET", path), path=path, scopes=READ_DATA, good=503, **about)


def _organization() -> Iterator[Request]:
    path = "/v1/organization"
    yield Request(route=("GET", path), path=path, scopes=MANAGE, whole=True)
    renamed = {"name": "acme"}
    yield Request(route=("PATCH", path), path=path, scopes=ADMIN, whole=True, body=renamed)


def _people() -> Iterator[Request]:
    path, one = "/v1/people", "/v1/people/{person_id}"
    whole: Any = {"scopes": ADMIN, "whole": True}
    yield Request(route=("GET", path), path=path, **whole)
    invite = partial(lambda: {"email": f"p{next(NAMES)}@shop.example", "role": "viewer"})
    yield Request(route=("POST", path), path=path, body=invite, good=201, **whole)
    for subject in ("client", "stranger", "nowhere"):
        about: Any = {**whole, "subject": subject, "hidden": True}
        yield Request(route=("GET", one), path=f"{path}/{subject}", **about)
        change: Any = {"body": {"role": "analyst"}}
        yield Request(route=("PATCH", one), path=f"{path}/{subject}", **change, **about)
        for method, part in (
            ("POST", "/password-reset"),
            ("POST", "/sign-out"),
            ("DELETE", "/second-factor"),
        ):
            route = (method, f"{one}{part}")
            yield Request(route=route, path=f"{path}/{subject}{part}", **about)
    route = ("POST", f"{one}/invitation")
    yield Request(
        route=route, path=f"{path}/invited/invitation", subject="invited", hidden=True, **whole
    )


def _account() -> Iterator[Request]:
    path = "/v1/account"
    first: Any = {"body": {"email": "o@shop.example", "password": "p" * 5 + "q" * 5}}
    access: Any = {"scopes": ADMIN, "whole": True, "of_keys": True}
    # Both organizations have an owner.
    yield Request(route=("POST", path), path=path, good=409, **first, **access)
    own: Any = {"of_people": True}
    yield Request(route=("GET", path), path=path, **own)
    yield Request(route=("PATCH", path), path=path, body={"name": "b"}, **own)
    other = f"{path}/organization"
    yield Request(
        route=("POST", other), path=other, body={"organizationId": "nowhere"}, good=403, **own
    )
    factor, code = f"{path}/second-factor", {"code": "000000"}
    yield Request(route=("POST", factor), path=factor, body={}, **own)
    yield Request(route=("PUT", factor), path=factor, body=code, good=400, **own)
    yield Request(route=("DELETE", factor), path=factor, body=code, good=404, **own)
    renewed = f"{factor}/recovery-codes"
    yield Request(route=("POST", renewed), path=renewed, body=code, good=404, **own)
    keys, one = f"{path}/keys", f"{path}/keys/{{key_id}}"
    yield Request(route=("GET", keys), path=keys, **own)
    yield Request(route=("POST", keys), path=keys, body={}, good=201, **own)
    yield Request(route=("DELETE", one), path=f"{keys}/key_acme", good=404, **own)
    sessions = f"{path}/sessions"
    yield Request(route=("GET", sessions), path=sessions, **own)
    yield Request(route=("DELETE", sessions), path=sessions, good=204, **own)
    one = f"{sessions}/{{session_id}}"
    yield Request(route=("DELETE", one), path=f"{sessions}/none", good=404, **own)


def _websites() -> Iterator[Request]:
    path = WEBSITE.path
    create: Any = {"scopes": MANAGE, "whole": True, "body": {"domain": "new.example"}}
    yield Request(route=("POST", path), path=path, good=201, **create)
    yield Request(route=("GET", path), path=path, scopes=READ)
    path = "/v1/deleted-websites"
    yield Request(route=("GET", path), path=path, scopes=MANAGE, whole=True)
    for website in WEBSITES:
        for part in ("/snippet", "/status"):
            yield WEBSITE.request("GET", website, part, scopes=READ)
        contract: Any = {"contract": {"events": {"signup": {}}}}
        yield WEBSITE.request("PUT", website, "/contract", scopes=MANAGE, body=contract)
        yield WEBSITE.request("GET", website, "/contract", scopes=READ)
        yield WEBSITE.request("DELETE", website, "/contract", scopes=MANAGE)
        yield WEBSITE.request("POST", website, "/restore", scopes=MANAGE, whole=True)


def _keys() -> Iterator[Request]:
    path = KEY.path
    yield Request(route=("GET", path), path=path, scopes=ADMIN)
    for website in WEBSITES:
        about: Any = {"subject": website, "path": path, "scopes": ADMIN}
        body = {"scopes": ["read:data"], "websiteId": website}
        yield Request(route=("POST", path), body=body, good=201, **about)
        yield Request(route=("GET", path), query={"website_id": website}, **about)
    everywhere = {"scopes": ["read:data"], "websiteId": None}
    create: Any = {"path": path, "scopes": ADMIN, "good": 201}
    yield Request(route=("POST", path), body=everywhere, whole=True, **create)
    for key in KEY.subjects:
        yield KEY.request("POST", key, "/rotate", body={}, scopes=ADMIN, good=201)


def _links() -> Iterator[Request]:
    path, new = LINK.path, {"name": "a", "targetUrl": "https://t.example/"}
    for organization in ORGANIZATIONS:
        body = {**new, "organizationId": organization}
        about: Any = {"subject": organization, "whole": True, "path": path}
        query = {"organizationId": organization}
        yield Request(route=("POST", path), scopes=LINK.writes, body=body, good=201, **about)
        yield Request(route=("GET", path), scopes=LINK.reads, query=query, **about)


def _imports() -> Iterator[Request]:
    path = IMPORT.path
    for website in WEBSITES:
        about: Any = {"subject": website, "path": path, "scopes": MANAGE}
        body = {"websiteId": website, "name": "a.csv"}
        yield Request(route=("POST", path), body=body, good=201, **about)
        yield Request(route=("GET", path), query={"websiteId": website}, **about)
    for subject in IMPORT.subjects:  # 409: no process takes files, and nothing is checked
        yield IMPORT.request("PUT", subject, "/file", scopes=MANAGE, body=b"a", good=409)
        yield IMPORT.request("POST", subject, "/start", scopes=MANAGE, good=409)


def _erasures() -> Iterator[Request]:
    path = ERASURE.path
    for website in WEBSITES:
        about: Any = {"subject": website, "path": path, "scopes": ERASE}
        body = {"websiteId": website, "visitor": "nobody", "dryRun": True}
        yield Request(route=("POST", path), body=body, good=201, **about)
        yield Request(route=("GET", path), query={"websiteId": website}, **about)


def _replays() -> Iterator[Request]:
    path = REPLAY.path
    for website in WEBSITES:
        about: Any = {"subject": website, "path": path, "scopes": MANAGE}
        body = {"websiteId": website, "dryRun": True}
        yield Request(route=("POST", path), body=body, good=201, **about)
        yield Request(route=("GET", path), query={"websiteId": website}, **about)


def _saved_records(kind: str) -> Iterator[Request]:
    saved = SAVED_KINDS[kind]
    write: Any = {"scopes": saved.writes, "also": saved.also, "body": partial(_new_body, kind)}
    for website in WEBSITES:
        query = {"website_id": website}
        about: Any = {"subject": website, "path": saved.path, "query": query}
        yield Request(route=("POST", saved.path), good=201, **write, **about)
        reads: Any = {"scopes": saved.reads, "also": saved.reads_also}
        yield Request(route=("GET", saved.path), **reads, **about)


def _notices() -> Iterator[Request]:
    """Tests, previews and history. 409: the records of the model tell nobody."""
    for kind, part, good in (
        ("channels", "/test", 200),
        ("alerts", "/test", 409),
        ("reports", "/send", 409),
    ):
        records = SAVED_KINDS[kind]
        write: Any = {"scopes": records.writes, "also": READ_DATA, "good": good}
        for subject in records.subjects:
            yield records.request("POST", subject, part, **write)
    for kind, part in (("alerts", "/history"), ("reports", "/history"), ("reports", "/preview")):
        for subject in SAVED_KINDS[kind].subjects:
            saved = SAVED_KINDS[kind]
            reads: Any = {"scopes": saved.reads, "also": saved.reads_also}
            yield SAVED_KINDS[kind].request("GET", subject, part, **reads)
    for method in ("GET", "POST"):  # without a token
        path = "/v1/unsubscribe"
        yield Request(route=(method, path), path=path, good=404)


def _new_body(kind: str) -> Mapping[str, Any]:
    """A body with a name that no earlier request had."""
    named = {} if kind in ("annotations", "error_statuses") else {"name": f"new{next(NAMES)}"}
    return {**BODIES[kind], **named}


# Asked at the end: they take away what the others ask about.
REMOVALS = (
    *(records.removal() for records in (LINK, IMPORT, *SAVED_KINDS.values())),
    KEY.request("POST", "key_rival", "/revoke", scopes=ADMIN),
    KEY.removal(),
    structs.replace(WEBSITE.removal(), whole=True),
    *(
        Request(
            route=("DELETE", "/v1/people/{person_id}"),
            path=f"/v1/people/{member}",
            scopes=ADMIN,
            whole=True,
            subject=member,
            hidden=True,
        )
        for member in ("leaver", "stranger")
    ),
)
