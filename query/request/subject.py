"""Who a request is about: the one subject of its query string, when the key reaches it."""

from msgspec import Struct
from starlette.requests import Request

from query.dependencies import Desk
from query.standard.declaration.query_type import Subject
from schemas.errors import Malformed
from schemas.http.auth import reach_link, reach_organization, reach_website
from schemas.registry import Key


class Who(Struct, frozen=True):
    """The subject of a request."""

    kind: Subject
    id: str
    owner: str
    """The organization that asks."""
    zone: str = "UTC"
    """The zone of its days, unless the request names one."""


def subject(desk: Desk, key: Key, request: Request) -> Who:
    """The subject; Malformed when there is none or more than one."""
    given = [(kind, request.query_params.get(kind)) for kind in Subject]
    named = [(kind, value) for kind, value in given if value]
    if len(named) != 1:
        said = "both" if named else "neither"
        raise Malformed(f"Give either 'website_id' or 'link_id' in the query string, not {said}")
    kind, name = named[0]
    owner = key.organization_id
    if kind is Subject.LINK:
        return Who(kind, reach_link(desk.registry, key, name).id, owner)
    if name == owner:  # what was sent with a key of several websites, and named none
        return Who(kind, reach_organization(desk.registry, key, name).id, owner)
    website = reach_website(desk.registry, key, name)
    return Who(kind, website.id, owner, website.timezone)
