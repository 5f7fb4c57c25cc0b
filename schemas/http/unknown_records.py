"""Rereads the registry for requests that name a record which this process does not know yet.

A website, key, link or import works at once for whoever created it, in every process. Requests with
unknown ids share reads of the registry (`schemas/registry/on_demand_read.py`).
"""

from collections.abc import Awaitable, Callable, Collection, Container, Sequence
from typing import Protocol, TypeGuard
from urllib.parse import parse_qs

from starlette.types import Scope

from schemas.http.asgi import header
from schemas.http.auth import read_api_key
from schemas.registry import Snapshot
from schemas.registry.api_keys import parse_key
from schemas.registry.share_links import share_of_access

MAX_ID_LENGTH = 64
WEBSITE_PARAMETERS = ("website_id", "client_id")


class RereadableRegistry(Protocol):
    """A registry snapshot that can be brought up to date."""

    @property
    def snapshot(self) -> Snapshot: ...

    async def newer_than(self, snapshot: Snapshot, ids: Collection[str]) -> bool:
        """Whether there is a newer snapshot, after a read for ids that this one does not have."""


RereadRegistry = Callable[[Scope], Awaitable[bool]]
"""Whether a refused request may succeed now, because the registry has changed."""


async def never_reread(scope: Scope) -> bool:  # noqa: ARG001
    """For applications without a registry."""
    return False


def no_key(scope: Scope) -> str | None:  # noqa: ARG001
    """For services where keys are in headers only."""
    return None


def reread_for_unknown(
    registry: RereadableRegistry, key_elsewhere: Callable[[Scope], str | None] = no_key
) -> RereadRegistry:
    """Rereads the registry if the request names an unknown record.

    `key_elsewhere` is the id of a key or a member that is named in another place than the headers
    of keys.
    """

    async def reread(scope: Scope) -> bool:
        snapshot = registry.snapshot
        ids = [*unknown_ids(scope, snapshot)]
        key = key_elsewhere(scope)
        if is_unknown(key, snapshot.keys) and key not in snapshot.members:
            ids.append(key)
        return bool(ids) and await registry.newer_than(snapshot, ids)

    return reread


async def snapshot_with_websites(
    registry: RereadableRegistry, website_ids: Collection[str | None]
) -> Snapshot:
    """The snapshot, reread if the items of a request name a website that it does not have."""
    snapshot = registry.snapshot
    unknown = [id_ for id_ in website_ids if is_unknown(id_, snapshot.websites)]
    if unknown:
        await registry.newer_than(snapshot, unknown)
    return registry.snapshot


async def snapshot_with_link(registry: RereadableRegistry, slug: str) -> Snapshot:
    """The snapshot, reread if it has no link of that slug."""
    snapshot = registry.snapshot
    if is_unknown(slug, snapshot.links_by_slug):
        await registry.newer_than(snapshot, [slug])
    return registry.snapshot


def unknown_ids(scope: Scope, snapshot: Snapshot) -> Sequence[str]:
    """Ids of key, share, website and import in headers and URL that the snapshot lacks."""
    text = read_api_key(lambda name: header(scope, name.encode())) or ""
    key, share = parse_key(text), share_of_access(text)
    fields = parse_qs(scope["query_string"].decode("latin-1"))
    named: tuple[tuple[str | None, Container[str]], ...] = (
        (key and key[0], snapshot.keys),
        *((fields.get(name, [None])[0], snapshot.websites) for name in WEBSITE_PARAMETERS),
        (fields.get("import_id", [None])[0], snapshot.imports),
        (share and share[0], snapshot.saved.of_website(share[1]).by_id if share else ()),
    )
    return [id_ for id_, records in named if is_unknown(id_, records)]


def is_unknown(id_: str | None, records: Container[str]) -> TypeGuard[str]:
    """Whether an id may be that of a new record: well-formed, and not one of these."""
    return id_ is not None and 0 < len(id_) <= MAX_ID_LENGTH and id_ not in records
