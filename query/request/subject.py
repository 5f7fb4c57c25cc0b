"""The website or link of a request, if the API key has access to it."""

from enum import StrEnum

from msgspec import Struct
from starlette.requests import Request

from query.dependencies import QueryDependencies
from schemas.errors import Malformed
from schemas.http.auth import authorize_link, authorize_organization, authorize_website
from schemas.http.openapi import Parameter
from schemas.registry import Key


class SubjectKind(StrEnum):
    """What a query is about; the value is the query parameter that names it."""

    LINK = "link_id"
    WEBSITE = "website_id"


SUBJECT_PARAMETERS = (
    Parameter(SubjectKind.WEBSITE, "the website to query; either this or link_id"),
    Parameter(SubjectKind.LINK, "the short link to query"),
)


class QuerySubject(Struct, frozen=True):
    """The subject of a request."""

    kind: SubjectKind
    id: str
    organization_id: str
    """The organization of the API key."""
    time_zone: str = "UTC"
    """The time zone of its days, unless the request names another."""


def authorized_subject(dependencies: QueryDependencies, key: Key, request: Request) -> QuerySubject:
    """The subject of the query string; Malformed unless there is exactly one."""
    values = {kind: request.query_params.get(kind) for kind in SubjectKind}
    named = [(kind, value) for kind, value in values.items() if value]
    if len(named) != 1:
        problem = "not both" if named else "as in ?website_id=…; the body does not name it"
        raise Malformed(f"Give either 'website_id' or 'link_id' in the query string, {problem}")
    kind, name = named[0]
    owner = key.organization_id
    if kind is SubjectKind.LINK:
        return QuerySubject(kind, authorize_link(dependencies.registry, key, name).id, owner)
    if name == owner:  # items sent without a website by a key with access to several
        return QuerySubject(
            kind, authorize_organization(dependencies.registry, key, name).id, owner
        )
    website = authorize_website(dependencies.registry, key, name)
    return QuerySubject(kind, website.id, owner, website.timezone)
