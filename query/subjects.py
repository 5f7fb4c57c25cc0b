"""Who a request is about: the one subject of its query string, when the key reaches it."""

from msgspec import Struct
from starlette.requests import Request

from query.desk import Desk
from query.standard.spec import Subject
from schemas.edge.identity import reach_link, reach_website
from schemas.failures import Malformed
from schemas.registry import Key


class Who(Struct, frozen=True):
    """The subject of a request."""

    kind: Subject
    id: str
    owner: str
    """The organization that asks."""


def subject(desk: Desk, key: Key, request: Request) -> Who:
    """The subject; Malformed when there is none or more than one."""
    given = [(kind, request.query_params.get(kind)) for kind in Subject]
    named = [Who(kind, value, key.organization_id) for kind, value in given if value]
    if len(named) != 1:
        said = "both" if named else "neither"
        raise Malformed(f"Give either 'website_id' or 'link_id' in the query string, not {said}")
    who = named[0]
    reach = reach_website if who.kind is Subject.WEBSITE else reach_link
    reach(desk.registry, key, who.id)
    return who
