"""GET /v1/audit: who changed which record of the organization, and how."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.query_string import strict_query_string
from query.request.suggestions import shorten
from query.resources.pagination import DEFAULT_LIMIT, MAX_LIMIT, query_integer
from query.response.json_response import json_response
from schemas.errors import Malformed
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.plans import Group
from schemas.registry import KeyScope
from schemas.registry.audit_names import KINDS, Names
from schemas.registry.audit_trail import MAX_VALUE_LENGTH
from schemas.registry.people import PERSON_ACTOR
from schemas.registry.records import Action, Change
from schemas.registry.unseen_text import refuse_null
from schemas.runtime.clock import format_instant

MAX_NUMBER = 999_999_999
ANY_KEY = "key"
"""Stands for the actors of all API keys in a request."""
KEY_ACTOR = "key:"
NAMED_ACTORS = (KEY_ACTOR, PERSON_ACTOR)
OPERATOR = "cli"
"""Actor of changes by the command line; the name of its user is the operator's."""
Values = Annotated[
    dict[str, Any] | None,
    Meta(description=f"fields by name, without secrets; cut after {MAX_VALUE_LENGTH} characters"),
]


class AuditEntry(Struct, rename="camel"):
    """One change of a record."""

    number: Annotated[int, Meta(description="larger for later changes")]
    at: str
    actor: Annotated[
        str,
        Meta(
            description="`person:` with an e-mail address, `key:` with the id of an API key, "
            "`cli`, or a process"
        ),
    ]
    action: Action
    kind: Annotated[str, Meta(description="website, key, link, goal, …")]
    record_id: str
    record: Annotated[
        dict[str, Any] | None,
        Meta(
            description="what the record is called now, or was last: `name`, `domain`, `slug`, "
            "`targetUrl` or `text`, those that it has; null if that is not known"
        ),
    ]
    website_id: Annotated[str | None, Meta(description="website of the record, if it has one")]
    fields: Annotated[list[str], Meta(description="names of updated fields")]
    before: Values
    after: Values


class AuditMeta(Struct):
    """How to read on."""

    limit: int
    next: Annotated[int | None, Meta(description="`before` of the next page; null: the last one")]


class AuditResponse(Struct):
    """One page of changes, newest first."""

    success: Literal[True]
    data: list[AuditEntry]
    meta: AuditMeta


async def list_changes(dependencies: QueryDependencies, request: Request) -> Response:
    """GET: a key of one website sees the changes of that website and its records."""
    key = await dependencies.authorize(request, KeyScope.ADMIN, Group.RECORDS)
    params = request.query_params
    limit = query_integer(params, "limit", DEFAULT_LIMIT, MAX_LIMIT)
    before = query_integer(params, "before", MAX_NUMBER, MAX_NUMBER)
    website_id = params.get("website_id") or key.website_id
    if key.website_id is not None:
        authorize_website(dependencies.registry, key, str(website_id))
    where = {
        "website_id": website_id,
        "record_id": params.get("record_id"),
        "kind": _kind(params.get("kind")),
        "actor": _actor(params.get("actor")),
    }

    def read() -> tuple[Sequence[Change], Sequence[Names | None]]:
        changes = dependencies.store.changes(limit + 1, key.organization_id, before, **where)
        return changes, dependencies.store.names_of(changes[:limit])

    found, names = await dependencies.in_registry(read)
    entries = [_entry(change, named) for change, named in zip(found, names, strict=False)]
    more = entries[-1].number if len(found) > limit else None
    return json_response(AuditResponse(success=True, data=entries, meta=AuditMeta(limit, more)))


def _kind(text: str | None) -> str | None:
    if text is not None and text not in KINDS:
        raise Malformed(f"'kind' is '{shorten(text)}'; use one of {', '.join(KINDS)}")
    return text


def _actor(text: str | None) -> str | None:
    """An actor as entries name it: names of the operator's users are not searched."""
    refuse_null("actor", text)
    if text is not None and ":" in text and not text.startswith(NAMED_ACTORS):
        raise Malformed(
            f"'actor' is '{shorten(text)}'; use '{PERSON_ACTOR}' with an e-mail address, "
            f"'{KEY_ACTOR}' with the id of an API key, 'person' or '{ANY_KEY}' for any of them, "
            f"'{OPERATOR}' or the name of a process"
        )
    return text


def _entry(change: Change, names: Names | None) -> AuditEntry:
    is_named = change.actor.startswith(NAMED_ACTORS)
    return AuditEntry(
        number=change.number,
        at=str(format_instant(change.at)),
        actor=change.actor if is_named else change.actor.partition(":")[0] or OPERATOR,
        action=change.action,
        kind=change.kind,
        record_id=change.record_id,
        record=_values(names),
        website_id=change.website_id,
        fields=[wire_name(field) for field in change.fields],
        before=_values(change.before),
        after=_values(change.after),
    )


def wire_name(field: str) -> str:
    """The name of a field in bodies: `allowedOrigins` for `allowed_origins`."""
    first, *others = field.split("_")
    return first + "".join(part.capitalize() for part in others)


def _values(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Values under their names in bodies, instants as ISO 8601."""
    if values is None:
        return None
    return {
        wire_name(field): format_instant(value)
        if field.endswith("_at") and isinstance(value, int)
        else value
        for field, value in values.items()
    }


ENDPOINTS = (
    strict_query_string(
        QueryEndpoint(
            list_changes,
            openapi.Operation(
                method="GET",
                path="/v1/audit",
                operation_id="listChanges",
                tag="Audit trail",
                summary="List changes of websites, keys and other records, newest first",
                description="The key needs `admin`. One that is restricted to a website gets the "
                "changes of that website and its records.",
                parameters=(
                    openapi.Parameter("website_id", "only this website and its records"),
                    openapi.Parameter("kind", "only records of this kind", {"enum": list(KINDS)}),
                    openapi.Parameter(
                        "actor",
                        "only changes by this actor: `person:` with an e-mail address, `key:` "
                        "with the id of an API key, `person` or `key` for any of them, `cli`, or a "
                        "process such as `first start`",
                    ),
                    openapi.Parameter("record_id", "only this record"),
                    openapi.Parameter(
                        "before",
                        "only older changes: `meta.next` of the previous page",
                        {"type": "integer", "minimum": 1, "maximum": MAX_NUMBER},
                    ),
                    openapi.Parameter(
                        "limit",
                        "changes of a page",
                        {
                            "type": "integer",
                            "minimum": 1,
                            "maximum": MAX_LIMIT,
                            "default": DEFAULT_LIMIT,
                        },
                    ),
                ),
                responses=(openapi.Response(200, "one page", AuditResponse),),
                errors=(*KEY_ERRORS, Malformed),
            ),
        )
    ),
)
