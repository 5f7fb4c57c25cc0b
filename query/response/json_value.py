"""Answers: any value as a JSON response."""

from starlette.responses import Response

from schemas.http.error_bodies import encode_json


def json_response(body: object, status: int = 200) -> Response:
    """The value as JSON."""
    return Response(encode_json(body), status, media_type="application/json")
