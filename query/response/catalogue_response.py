"""Catalogues: JSON documents without data of a tenant, encoded once and sent with an ETag."""

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from schemas.http import openapi
from schemas.http.error_bodies import encode_json
from schemas.http.static_content import StaticContent, static_response

NOT_MODIFIED = openapi.Response(304, "not modified", headers=("ETag",))
"""What a client gets that has the document."""


class Catalogue(Struct, frozen=True):
    """An encoded document."""

    content: StaticContent

    def response(self, request: Request) -> Response:
        """The document, or 304; no key is needed, so it counts against the public limit."""
        made = static_response(request.scope, self.content, [(b"cache-control", b"no-cache")])
        response = Response(made.body, made.status)
        response.raw_headers = list(made.headers)
        return response


def encode_catalogue(value: object) -> Catalogue:
    """The document; for callers to keep, as encoding one takes tens of milliseconds."""
    return Catalogue(StaticContent.of(encode_json(value), "application/json"))
