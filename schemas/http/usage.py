"""How a POST route is called: a sentence for requests with another method."""

from collections.abc import Iterable, Mapping

from schemas.http.openapi import Operation

CREDENTIALS = {"key": "an API key (header `x-api-key`)", "website": "`?website_id=`"}
"""The usual ways to authenticate, by security scheme."""


def usage_by_path(operations: Iterable[Operation]) -> Mapping[str, str]:
    """How to call each path that has a POST operation and no GET operation."""
    operations = tuple(operations)
    readable = {operation.path for operation in operations if operation.method == "GET"}
    return {
        operation.path: _usage(operation)
        for operation in operations
        if operation.method == "POST" and operation.path not in readable
    }


def _usage(operation: Operation) -> str:
    schemes = {scheme for requirement in operation.security for scheme in requirement}
    ways = " or ".join(text for scheme, text in CREDENTIALS.items() if scheme in schemes)
    credentials = f" and {ways}" if ways else ""
    return (
        f"with a JSON body (header `content-type: application/json`){credentials}; "
        "`GET /docs` describes it"
    )
