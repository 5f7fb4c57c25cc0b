"""Answers: any value as a JSON response."""

from starlette.responses import Response

from schemas.http.error_bodies import encode


def answered(body: object, status: int = 200) -> Response:
    """The value as JSON."""
    return Response(encode(body), status, media_type="application/json")
