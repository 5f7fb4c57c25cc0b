"""The operations on short links, as the document shows them."""

from schemas.errors import NotFound, RateLimitExceeded
from schemas.http.openapi import Operation, Parameter, Response

SLUG_PARAMETER = Parameter("slug", "the link's last part", required=True, location="path")

LINK_OPERATIONS = (
    Operation(
        method="GET",
        path="/l/{slug}",
        operation_id="follow",
        tag="Links",
        summary="Follow a short link, and count the click",
        description="Parameters are passed on to the target, but for those that it has itself. A "
        "HEAD is "
        "answered alike and not counted. Who accepts text/html gets a page instead of JSON.",
        parameters=(SLUG_PARAMETER,),
        responses=(
            Response(302, "to where it leads", headers=("Location", "ETag")),
            Response(304, "to where it led before", headers=("ETag",)),
            Response(
                200, "to programs that preview links: what it shows", media_types=("text/html",)
            ),
        ),
        errors=(NotFound, RateLimitExceeded),
        security=({},),
    ),
    Operation(
        method="GET",
        path="/l/{slug}/qr.svg",
        operation_id="code",
        tag="Links",
        summary="A QR code that leads to the link",
        description="It holds the address at which it was asked for.",
        parameters=(SLUG_PARAMETER,),
        responses=(Response(200, "the picture", media_types=("image/svg+xml",)),),
        errors=(NotFound, RateLimitExceeded),
        security=({},),
    ),
)
