"""A query service in this process: two organizations, their websites, links and keys, and a lake.

acme has the websites shop and blog and the link go; globex has rival and away.
"""

import atexit
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec import Struct

from query.app import ENDPOINTS, create_app
from query.dependencies import QueryDependencies, QueryEndpoint
from query.prepared.prepared_results import PreparedResults
from schemas.http.middleware import HttpMiddleware
from schemas.registry import Link, Organization, RegistryFollower, RegistryStore, Website
from schemas.registry.validation import new_key
from schemas.runtime.settings import Settings
from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.query.lake import Lake, Stored
from tests.registries import make_registry

NOW = 1_796_000_000_000
"""2026-11-30T00:53:20Z"""

KEYS: Mapping[str, tuple[str, tuple[str, ...], str | None]] = {
    "acme": ("acme", ("read:data", "read:links", "write:links"), None),
    "acme-admin": ("acme", ("admin",), None),
    "acme-track": ("acme", ("track:events",), None),
    "acme-shop": ("acme", ("read:data", "read:links", "write:links"), "shop"),
    "globex": ("globex", ("read:data", "read:links", "write:links"), None),
}


class InProcessService(Struct, weakref=True):
    """The query service in this process, with its lake and registry."""

    app: HttpMiddleware
    lake: Lake
    store: RegistryStore
    data: Path
    keys: Mapping[str, str]
    close: Callable[[], None]
    follower: RegistryFollower
    dependencies: QueryDependencies
    results: PreparedResults | None = None

    def holds(self, *rows: Stored) -> None:
        """Store rows in the lake."""
        self.lake.holds(*rows)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        key: str | None = "acme",
        **query: str,
    ) -> Reply:
        """One request."""
        url = f"{path}?{urlencode(query)}" if query else path
        return request_once(
            self.app, method, url, body, {"x-api-key": self.keys[key]} if key else {}
        )

    def query(self, *parameters: object, subject: str = "shop", **more: Any) -> Reply:
        """One standard request about November 2026; a subject with `link:` is a link."""
        kind = "link_id" if subject.startswith("link:") else "website_id"
        body = {"parameters": list(parameters), **NOVEMBER, **more}
        return self.ask("POST", "/v1/query", body, **{kind: subject.removeprefix("link:")})

    def rows(self, parameter: object, **more: Any) -> Any:
        """The rows of one query type."""
        entry = self.query(parameter, **more).json["data"][0]
        assert entry["success"], entry
        return entry["data"]

    def custom(self, table: str, selects: Sequence[Any], **query: Any) -> Reply:
        """One custom request about the shop in November 2026."""
        body = {"query": {"table": table, "selects": selects, **query}, **NOVEMBER}
        return self.ask("POST", "/v1/query/custom", body, website_id="shop")


NOVEMBER = {"startDate": "2026-11-01", "endDate": "2026-11-30"}


def start_service(
    root: Path,
    fresh_seconds: float = 0,
    endpoints: Sequence[QueryEndpoint] = ENDPOINTS,
    **settings: Any,
) -> InProcessService:
    """A service over a new registry and an empty lake."""
    settings.setdefault("query_seconds", 120)  # a busy machine is no fault of the service
    options = Settings(data_dir=str(root), query_memory_mb=256, query_threads=1, **settings)
    if "registry" in settings:
        make_registry(options.registry_url)
        store = RegistryStore(options.registry_url)
        keys = fill_registry(store)
    else:
        made, keys = filled_registry()
        path = Path(options.registry_url.removeprefix("sqlite:///"))
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, path)
        store = RegistryStore(options.registry_url)
    service = create_app(
        options, store, clock=lambda: NOW, fresh_seconds=fresh_seconds, endpoints=endpoints
    )
    in_process = InProcessService(
        service.app, Lake(root / "lake"), store, root, keys, service.close, service.follower,
        service.dependencies, service.results,
    )  # fmt: skip
    # Few tests close their service; Python 3.13 warns of a database that nobody closed.
    weakref.finalize(in_process, store.close)
    return in_process


def reused(build: Callable[[Path], InProcessService]) -> Any:
    """A fixture: the service that `build` starts; the next test of the module reuses it.

    A test that changed a file of it (registry, lake, prepared results) leaves none to the next.
    """
    unchanged: dict[Path, InProcessService] = {}

    @pytest.fixture(name=build.__name__)
    def service(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[InProcessService]:
        running = unchanged.pop(request.path, None)
        if running is None:
            unchanged.clear()
            running = build(tmp_path)
        before = _files(running.data)
        yield running
        if _files(running.data) == before:
            unchanged[request.path] = running

    return service


def _files(folder: Path) -> Mapping[Path, tuple[int, int]]:
    """Size and time of change of every file and folder."""
    found = {path: path.stat() for path in folder.rglob("*")}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


@cache
def filled_registry() -> tuple[Path, Mapping[str, str]]:
    """A migrated and filled registry to be copied, and its API keys by name."""
    path = Path(mkdtemp(prefix="tidemark-registry-")) / "registry.db"
    atexit.register(shutil.rmtree, path.parent)
    make_registry(f"sqlite:///{path}")
    store = RegistryStore(f"sqlite:///{path}")
    keys = fill_registry(store)
    store.close()
    return path, keys


def fill_registry(store: RegistryStore) -> Mapping[str, str]:
    """Fill the registry; the API keys by name."""
    when: Mapping[str, Any] = {"created_at": NOW, "updated_at": NOW}
    for organization in ("acme", "globex"):
        store.create(Organization(id=organization, name=organization, plan="enterprise", **when))
    for website, owner in (("shop", "acme"), ("blog", "acme"), ("rival", "globex")):
        domain = f"{website}.example"
        store.create(Website(id=website, organization_id=owner, domain=domain, **when))
    for link, owner in (("go", "acme"), ("away", "globex")):
        target = "https://target.example/"
        record = Link(
            id=link, organization_id=owner, name=link, target_url=target, slug=link, **when
        )
        store.create(record)
    texts = {}
    for name, (owner, scopes, bound) in KEYS.items():
        key, texts[name] = new_key(owner, scopes, NOW, website_id=bound, name=name)
        store.create(key)
    return texts
