"""Reads and writes of registry records for an API key.

A record that the key has no access to answers like one that does not exist.
"""

from collections.abc import Callable
from typing import TypeVar

from msgspec import UNSET, Struct, structs
from starlette.requests import Request

from query.dependencies import QueryDependencies
from query.request.body import read_json
from schemas.errors import Conflict, Forbidden, Malformed, NotFound
from schemas.http.auth import OUT_OF_REACH
from schemas.registry import Key, RecordConflict, RecordNotFound, Website
from schemas.registry.record_mapping import RecordT, kind_name, owner_id
from schemas.registry.transaction import OwnerMissing

T = TypeVar("T")
StructT = TypeVar("StructT", bound=Struct)


async def read_record(
    dependencies: QueryDependencies, key: Key, kind: type[RecordT], record_id: str
) -> RecordT:
    """The record, read from the store itself so that it is never stale; NotFound.

    A key of one website has access to records of that website only.
    """
    try:
        record = await dependencies.in_registry(lambda: dependencies.store.get(kind, record_id))
    except RecordNotFound:
        raise _not_found(kind) from None
    website_id = record.id if isinstance(record, Website) else getattr(record, "website_id", None)
    if owner_id(record) != key.organization_id or key.website_id not in (None, website_id):
        raise _not_found(kind)
    return record


def require_whole_organization(key: Key) -> Key:
    """The key, if it is not restricted to one website; Forbidden."""
    if key.website_id is not None:
        raise Forbidden(OUT_OF_REACH.format(what="organization"))
    return key


async def read_changes(request: Request, shape: type[StructT]) -> StructT:
    """The body of a PATCH; Malformed when it names no field."""
    body = await read_json(request, shape)
    if all(value is UNSET for value in structs.asdict(body).values()):
        names = ", ".join(f"'{name}'" for name in shape.__struct_encode_fields__)
        raise Malformed(f"The body has nothing to change; give at least one of {names}")
    return body


async def write_record(
    dependencies: QueryDependencies, kind: type[RecordT], write: Callable[[], T]
) -> T:
    """The result of a write, which this process sees at once; Conflict, Forbidden or NotFound.

    Forbidden, as in the next request, when its owner was deleted while this one was authorized.
    """
    try:
        written = await dependencies.in_registry(write)
    except OwnerMissing:
        await dependencies.refresh_registry()
        what = "website" if "website_id" in kind.__struct_fields__ else "organization"
        raise Forbidden(OUT_OF_REACH.format(what=what)) from None
    except RecordConflict as conflict:
        raise Conflict(f"{str(conflict)[:1].upper()}{str(conflict)[1:]}") from None
    except RecordNotFound:
        raise _not_found(kind) from None
    await dependencies.refresh_registry()
    return written


def _not_found(kind: type[RecordT]) -> NotFound:
    return NotFound(f"No such {kind_name(kind)}")
