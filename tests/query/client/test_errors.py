"""Errors of the client by status and code."""

import pytest

from query.client import (
    AccessDenied,
    Broken,
    InvalidRequest,
    Refused,
    ServiceError,
    ServiceUnavailable,
    TooManyRequests,
    TransferError,
)
from tests.query.client.scripted_service import Playing, Said, answering, failing


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, "VALIDATION_ERROR", InvalidRequest),
        (401, "AUTH_REQUIRED", AccessDenied),
        (403, "ACCESS_DENIED", AccessDenied),
        (404, "NOT_FOUND", ServiceError),
        (429, "RATE_LIMIT_EXCEEDED", TooManyRequests),
        (500, "INTERNAL_ERROR", ServiceError),
        (503, "QUERY_TIMEOUT", ServiceUnavailable),
    ],
)
def test_each_status_has_its_error(
    playing: Playing, status: int, code: str, expected: type[ServiceError]
) -> None:
    client, _ = playing(failing(status, code, "'limit' must be at least 1"), tries=1)

    with pytest.raises(ServiceError) as raised:
        client.ask("summary", website_id="w")

    assert type(raised.value) is expected
    assert (raised.value.status, raised.value.code, raised.value.field) == (status, code, "limit")
    assert raised.value.message == "'limit' must be at least 1"


@pytest.mark.parametrize(
    ("code", "expected"),
    [("VALIDATION_ERROR", InvalidRequest), ("QUERY_TIMEOUT", ServiceUnavailable)],
)
def test_a_query_that_fails_alone_has_the_error_of_its_code(
    playing: Playing, code: str, expected: type[ServiceError]
) -> None:
    entry = {"parameter": "x", "success": False, "error": "Unknown column 'y' in x", "code": code}
    client, _ = playing(answering({**entry, "data": []}))

    found = client.each(["x"], website_id="w")["x"]

    assert type(found) is expected
    assert (str(found), found.message) == ("x: Unknown column 'y' in x", "Unknown column 'y' in x")
    assert found.field == "y"


def test_a_page_of_a_proxy_is_an_error_with_its_status(playing: Playing) -> None:
    client, script = playing(Said(502, b"<html>Bad Gateway</html>"))

    with pytest.raises(ServiceUnavailable, match="status 502"):
        client.ask("summary", website_id="w")

    assert len(script.requests) == 1


def test_earlier_names_still_catch() -> None:
    assert (Refused, Broken) == (ServiceError, TransferError)
    assert issubclass(InvalidRequest, ValueError)
