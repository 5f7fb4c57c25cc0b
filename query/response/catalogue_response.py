"""Catalogues: JSON documents without data of a tenant, encoded once and sent with an ETag."""

import hashlib

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from schemas.http import openapi
from schemas.http.error_bodies import encode_json

NOT_MODIFIED = openapi.Response(304, "not modified", headers=("ETag",))
"""What a client gets that has the document."""


class Catalogue(Struct, frozen=True):
    """An encoded document."""

    body: bytes
    etag: str

    def response(self, request: Request) -> Response:
        """The document, or 304 when the client has it."""
        headers = {"etag": self.etag, "cache-control": "no-cache"}
        if self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self.body, headers=headers, media_type="application/json")


def encode_catalogue(value: object) -> Catalogue:
    """The document; for callers to keep, as encoding one takes tens of milliseconds."""
    body = encode_json(value)
    return Catalogue(body, f'"{hashlib.sha256(body).hexdigest()[:24]}"')
