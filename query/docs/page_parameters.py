"""What lists of the registry take."""

from query.resources.pagination import DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE
from schemas.http.openapi import Parameter


def page_parameters(things: str) -> tuple[Parameter, Parameter]:
    """The two parameters that choose a page."""
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    page = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1}
    return (
        Parameter("limit", f"{things} of a page", limit),
        Parameter("page", "which page", page),
    )
