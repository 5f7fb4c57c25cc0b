"""`?prepared=` in the query string: whether prepared results may be used."""

from collections.abc import Mapping

from starlette.requests import Request

from schemas.errors import Malformed
from schemas.http.openapi import Parameter

PREPARED_PARAMETER = Parameter(
    "prepared",
    "`false`: read the stored rows only, no prepared results; the rows of the result are the same",
    {"type": "boolean"},
)
FLAGS: Mapping[str, bool] = {"true": True, "false": False}


def uses_prepared(request: Request) -> bool:
    """Whether the request permits prepared results, as it does by default."""
    text = request.query_params.get(PREPARED_PARAMETER.name, "true")
    if text not in FLAGS:
        raise Malformed(f"'prepared' is '{text[:40]}'; it must be true or false")
    return FLAGS[text]
