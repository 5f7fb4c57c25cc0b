"""The operations on short links, as the document shows them."""

from schemas.errors import LimitExceeded, NotFound
from schemas.http.openapi import Answer, Operation, Parameter

SLUG = Parameter("slug", "the link's last part", required=True, within="path")

OPERATIONS = (
    Operation(
        method="GET",
        path="/l/{slug}",
        name="follow",
        group="Links",
        meaning="Follow a short link, and count the click",
        more="Parameters are passed on to the target, but for those that it has itself. A HEAD is "
        "answered alike and not counted. Who accepts text/html gets a page instead of JSON.",
        parameters=(SLUG,),
        answers=(
            Answer(302, "to where it leads", headers=("Location", "ETag")),
            Answer(304, "to where it led before", headers=("ETag",)),
            Answer(200, "to programs that preview links: what it shows", files=("text/html",)),
        ),
        failures=(NotFound, LimitExceeded),
        keys=({},),
    ),
    Operation(
        method="GET",
        path="/l/{slug}/qr.svg",
        name="code",
        group="Links",
        meaning="A QR code that leads to the link",
        more="It holds the address at which it was asked for.",
        parameters=(SLUG,),
        answers=(Answer(200, "the picture", files=("image/svg+xml",)),),
        failures=(NotFound, LimitExceeded),
        keys=({},),
    ),
)
