"""The operations on short links."""

from query.docs.components import Done, LinkAnswer, LinksAnswer
from query.docs.page_parameters import page_of
from query.resources.links import Changes, NewLink
from schemas.errors import (
    Conflict,
    Failure,
    Forbidden,
    LimitExceeded,
    Malformed,
    NotFound,
    TooLarge,
    TooSlow,
    Unauthorized,
    Unavailable,
)
from schemas.http.openapi import Answer, Operation, Parameter

REFUSED: tuple[type[Failure], ...] = (Unauthorized, Forbidden, LimitExceeded, Unavailable)
OF_BODY: tuple[type[Failure], ...] = (Malformed, Conflict, TooSlow, TooLarge)

ID = Parameter("link_id", "the link", required=True, within="path")

LINKS = (
    Operation(
        method="POST",
        path="/v1/links",
        name="createLink",
        group="Links",
        meaning="Create a short link",
        more="It leads on from the collector's /l/{slug}, which counts the clicks.",
        body=NewLink,
        examples={"a link": {"name": "Spring", "targetUrl": "https://shop.example/spring"}},
        answers=(Answer(201, "the link", LinkAnswer),),
        failures=(*REFUSED, *OF_BODY),
    ),
    Operation(
        method="GET",
        path="/v1/links",
        name="listLinks",
        group="Links",
        meaning="List links, oldest first",
        parameters=(
            Parameter("organizationId", "whose; the key's own when absent"),
            Parameter("externalId", "only those with this id of yours"),
            *page_of("links"),
        ),
        answers=(Answer(200, "one page", LinksAnswer),),
        failures=(*REFUSED, Malformed),
    ),
    Operation(
        method="GET",
        path="/v1/links/{link_id}",
        name="showLink",
        group="Links",
        meaning="Show a link",
        parameters=(ID,),
        answers=(Answer(200, "the link", LinkAnswer),),
        failures=(*REFUSED, NotFound),
    ),
    Operation(
        method="PATCH",
        path="/v1/links/{link_id}",
        name="changeLink",
        group="Links",
        meaning="Change a link: what is absent stays, null takes away",
        parameters=(ID,),
        body=Changes,
        answers=(Answer(200, "the link", LinkAnswer),),
        failures=(*REFUSED, *OF_BODY, NotFound),
    ),
    Operation(
        method="DELETE",
        path="/v1/links/{link_id}",
        name="deleteLink",
        group="Links",
        meaning="Delete a link; its clicks stay stored",
        parameters=(ID,),
        answers=(Answer(200, "it is gone", Done),),
        failures=(*REFUSED, NotFound),
    ),
)
