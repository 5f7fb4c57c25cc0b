"""Who a request is about: the one subject of its query string, when the key reaches it."""

from enum import StrEnum

from msgspec import Struct
from starlette.requests import Request

from query.dependencies import QueryDependencies
from schemas.errors import Malformed
from schemas.http.auth import authorize_link, authorize_organization, authorize_website
from schemas.registry import Key


class SubjectKind(StrEnum):
    """What a query is about; the value is the query parameter that names it."""

    LINK = "link_id"
    WEBSITE = "website_id"


class QuerySubject(Struct, frozen=True):
    """The subject of a request."""

    kind: SubjectKind
    id: str
    organization_id: str
    """The organization that asks."""
    time_zone: str = "UTC"
    """The zone of its days, unless the request names one."""


def authorized_subject(desk: QueryDependencies, key: Key, request: Request) -> QuerySubject:
    """The subject; Malformed when there is none or more than one."""
    given = [(kind, request.query_params.get(kind)) for kind in SubjectKind]
    named = [(kind, value) for kind, value in given if value]
    if len(named) != 1:
        said = "both" if named else "neither"
        raise Malformed(f"Give either 'website_id' or 'link_id' in the query string, not {said}")
    kind, name = named[0]
    owner = key.organization_id
    if kind is SubjectKind.LINK:
        return QuerySubject(kind, authorize_link(desk.registry, key, name).id, owner)
    if name == owner:  # what was sent with a key of several websites, and named none
        return QuerySubject(kind, authorize_organization(desk.registry, key, name).id, owner)
    website = authorize_website(desk.registry, key, name)
    return QuerySubject(kind, website.id, owner, website.timezone)
